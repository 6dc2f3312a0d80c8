import {
  CORE_SCHEMA,
  defineMappingTag,
  defineScalarTag,
  intCoreTag,
  load,
  mapTag,
  NOT_RESOLVED,
  YAMLException,
} from 'js-yaml';
import type { ParsedJson } from '../../resources/meta/json.ts';
import { setOwn } from '../../resources/meta/json-reader.ts';

const MAX_ALIASES = 100;
const MAX_DEPTH = 100;
/** What one document may stand for once its aliases are written out, in characters and values. */
const MAX_EXPANDED = 3 << 20;

/** Text that is no YAML, or says what JSON cannot. */
export class YamlError extends Error {
  override readonly name = 'YamlError';
}

/**
 * Parses one document of YAML 1.2 (core schema) into what its JSON would be: keys are text, 64-bit integers keep every digit, and members
 * given more than once are reported, the last one counting. Throws YamlError, also for what would blow up when its aliases are written out.
 */
export function parseYaml(text: string): ParsedJson {
  const repeated = new WeakMap<object, Set<string>>();
  const value = loaded(text, repeated);
  const survey = new Survey(repeated);
  survey.visit(value, '', 0);
  return { value, duplicates: [...survey.duplicates] };
}

function loaded(text: string, repeated: WeakMap<object, Set<string>>): unknown {
  try {
    return load(text, { schema: schemaNoting(repeated), maxAliases: MAX_ALIASES, maxDepth: MAX_DEPTH });
  } catch (error) {
    // The parser says that every kind of error may come out of it.
    if (error instanceof YamlError) throw error;
    if (!(error instanceof YAMLException)) throw new YamlError(error instanceof Error ? error.message : String(error));
    const line = error.mark === undefined ? '' : `line ${error.mark.line + 1}: `;
    throw new YamlError(`${line}${error.reason}`, { cause: error });
  }
}

function schemaNoting(repeated: WeakMap<object, Set<string>>) {
  const map = defineMappingTag<Record<string, unknown>>(mapTag.tagName, {
    create: () => ({}),
    // Never says that a key is there already: that is noted, not refused.
    has: () => false,
    addPair(fields, key, value) {
      if (typeof key === 'object' && key !== null) return 'a key must be text, a number or a boolean';
      const name = String(key);
      if (Object.hasOwn(fields, name)) repeated.set(fields, (repeated.get(fields) ?? new Set()).add(name));
      setOwn(fields, name, value);
      return '';
    },
    keys: Object.keys,
    get: (fields, key) => fields[String(key)],
    identify: () => false,
  });
  return CORE_SCHEMA.withTags(map, INTEGER);
}

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

/** The integers of the core schema, those beyond a double's as BigInt. */
const INTEGER = defineScalarTag<number | bigint>(intCoreTag.tagName, {
  implicit: true,
  implicitFirstChars: intCoreTag.implicitFirstChars,
  identify: () => false,
  resolve(source, isExplicit, tagName) {
    const number = intCoreTag.resolve(source, isExplicit, tagName);
    if (number === NOT_RESOLVED || Number.isSafeInteger(number)) return number;
    const digits = source.replace(/^\+/, '');
    const exact = digits.startsWith('-') ? -BigInt(digits.slice(1)) : BigInt(digits);
    return exact >= INT64_MIN && exact <= INT64_MAX ? exact : number;
  },
});

/** Goes over a document as if its aliases were written out, until that is too much. */
class Survey {
  readonly duplicates = new Set<string>();
  readonly #repeated: WeakMap<object, Set<string>>;
  #size = 0;

  constructor(repeated: WeakMap<object, Set<string>>) {
    this.#repeated = repeated;
  }

  visit(value: unknown, path: string, depth: number): void {
    this.#size += 1 + (typeof value === 'string' ? value.length : 0);
    if (this.#size > MAX_EXPANDED) throw new YamlError('its aliases stand for more than may be sent');
    if (depth > MAX_DEPTH) throw new YamlError('exceeded max depth');
    if (typeof value === 'number' && !Number.isFinite(value))
      throw new YamlError(`${path}: ${value} is no JSON number`);
    if (typeof value !== 'object' || value === null) return;
    if (Array.isArray(value)) {
      for (const [i, item] of value.entries()) this.visit(item, `${path}[${i}]`, depth + 1);
      return;
    }
    for (const name of this.#repeated.get(value) ?? []) this.duplicates.add(path === '' ? name : `${path}.${name}`);
    for (const [name, field] of Object.entries(value)) {
      this.#size += name.length;
      this.visit(field, path === '' ? name : `${path}.${name}`, depth + 1);
    }
  }
}
