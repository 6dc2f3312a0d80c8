import { setOwn } from '../meta/json-reader.ts';
import { keyText } from './key-text.ts';
import { YamlError } from './yaml-error.ts';
import {
  type AliasNode,
  MAX_YAML_DEPTH,
  type MappingNode,
  type ScalarNode,
  type YamlNode,
  yamlNodes,
} from './yaml-nodes.ts';
import { isUnsigned, resolveScalar, type Scalar } from './yaml-scalar.ts';

/** How many repeated keys are told of. */
const MAX_REPEATED = 1000;
/** What one document may stand for once its aliases are written out, in characters and values. */
const MAX_EXPANDED = 3 << 20;

export interface YamlDocument {
  /** Plain objects, arrays, strings, numbers, booleans, null, and BigInt for integers a number cannot hold. No two are the same object. */
  readonly value: unknown;
  /** Keys that were there already when they were met, in that order; the first thousand. */
  readonly repeated: readonly RepeatedKey[];
}

interface RepeatedKey {
  readonly key: Scalar['value'];
  /** Where the key stands. */
  readonly line: number;
  /** Where its value begins. */
  readonly valueLine: number;
  /** One of the two came by a merge key, which may well be meant. */
  readonly merged: boolean;
}

/**
 * Reads the documents of a YAML text into what their JSON would be, by the rules of Kubernetes' own programs: `yes`, `010` and `<<` are
 * what YAML 1.1 says, keys are text, the last of several equal keys counts, one that is merged in as well. Integers keep 64 bits.
 * Throws YamlError, also for what would blow up when its aliases are written out, and for a text with more values than `mostNodes`.
 */
export function* readYaml(text: string, mostNodes?: number): Iterable<YamlDocument> {
  for (const root of yamlNodes(text, mostNodes)) yield new Writer().document(root);
}

/** An object that is being read. */
interface Fields {
  readonly object: Record<string, unknown>;
  /** Which of its fields came by a merge key. */
  readonly merged: Set<string>;
}

/** Shared by the objects without merge keys, which are nearly all. */
const NONE = new Set<string>();

/** Writes out a document, its aliases too, until that is too much. */
class Writer {
  readonly #repeated: RepeatedKey[] = [];
  readonly #inside = new Set<AliasNode>();
  #size = 0;

  document(root: YamlNode): YamlDocument {
    return { value: this.#value(root, 0), repeated: this.#repeated };
  }

  #value(node: YamlNode, depth: number): unknown {
    this.#charge(node.kind === 'scalar' ? 1 : 3, node, depth);
    switch (node.kind) {
      case 'scalar':
        return this.#scalar(node);
      case 'sequence':
        return node.items.map((item) => this.#value(item, depth + 1));
      case 'mapping': {
        const fields: Fields = { object: {}, merged: node.pairs.some(([key]) => isMergeKey(key)) ? new Set() : NONE };
        this.#mapping(node, fields, depth, false);
        return fields.object;
      }
      case 'alias':
        return this.#through(node, (target) => this.#value(target, depth));
    }
  }

  #charge(size: number, { line }: YamlNode, depth: number): void {
    this.#size += size;
    if (this.#size > MAX_EXPANDED) throw new YamlError('its aliases stand for more than may be sent', line);
    if (depth > MAX_YAML_DEPTH) throw new YamlError('exceeded max depth', line);
  }

  #scalar(node: ScalarNode): unknown {
    this.#charge(node.text.length, node, 0);
    const { value } = resolveScalar(node);
    if (typeof value === 'number' && !Number.isFinite(value))
      throw new YamlError(`${node.text} is not a number JSON can carry`, node.line);
    return isUnsigned(value) ? Number(value) : value;
  }

  #through<T>(alias: AliasNode, read: (target: YamlNode) => T): T {
    if (this.#inside.has(alias)) throw new YamlError(`anchor '${alias.name}' value contains itself`, alias.line);
    this.#inside.add(alias);
    try {
      return read(alias.target);
    } finally {
      this.#inside.delete(alias);
    }
  }

  #mapping(node: MappingNode, fields: Fields, depth: number, merging: boolean): void {
    for (const [key, value] of node.pairs) {
      if (isMergeKey(key)) this.#merge(value, fields, depth);
      else this.#field(key, value, fields, depth, merging);
    }
  }

  #field(keyNode: YamlNode, node: YamlNode, { object, merged }: Fields, depth: number, merging: boolean): void {
    const { name, key } = this.#key(keyNode);
    const value = this.#value(node, depth + 1);
    if (this.#repeated.length < MAX_REPEATED && Object.hasOwn(object, name)) {
      const isMerged = merging || merged.has(name);
      this.#repeated.push({ key, line: keyNode.line, valueLine: node.line, merged: isMerged });
    }
    if (merging) merged.add(name);
    else merged.delete(name);
    setOwn(object, name, value);
  }

  #key(node: YamlNode): { readonly name: string; readonly key: Scalar['value'] } {
    if (node.kind === 'alias') return this.#through(node, (target) => this.#key(target));
    if (node.kind !== 'scalar') throw new YamlError('a key must be text, a number or a boolean', node.line);
    this.#charge(node.text.length, node, 0);
    const scalar = resolveScalar(node);
    return { name: keyText(scalar, node.line), key: scalar.value };
  }

  /** Of a list of mappings the first counts most, so it is written last. */
  #merge(node: YamlNode, fields: Fields, depth: number): void {
    const sources = node.kind === 'sequence' ? node.items.toReversed() : [node];
    for (const source of sources) this.#mergeOne(source, fields, depth);
  }

  #mergeOne(node: YamlNode, fields: Fields, depth: number): void {
    this.#charge(1, node, depth);
    const target = node.kind === 'alias' ? node.target : node;
    if (target.kind !== 'mapping')
      throw new YamlError('map merge requires map or sequence of maps as the value', node.line);
    if (node.kind === 'alias') this.#through(node, () => this.#mapping(target, fields, depth, true));
    else this.#mapping(target, fields, depth, true);
  }
}

const isMergeKey = (node: YamlNode): boolean =>
  node.kind === 'scalar' && node.text === '<<' && (node.plain || node.tag === 'tag:yaml.org,2002:merge');
