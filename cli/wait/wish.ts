import { isObject, type KubeObject, valueAt } from '../../resources/meta/object.ts';
import { Failure } from '../failure.ts';
import { asText, compileJsonPath } from './json-path.ts';

/** What is waited for: a look at one object as it is now (undefined: it does not exist). */
export interface Wish {
  readonly kind: 'condition' | 'jsonpath' | 'create' | 'delete';
  /** `condition met`, `created`, `deleted`. */
  readonly done: string;
  holds(object: KubeObject | undefined): boolean;
}

/** Reads `--for`. */
export function parseWish(text: string): Wish {
  if (text === 'delete') return { kind: 'delete', done: 'deleted', holds: (object) => object === undefined };
  if (text === 'create') return { kind: 'create', done: 'created', holds: (object) => object !== undefined };
  if (text.startsWith('condition=')) return conditionWish(text.slice('condition='.length), text);
  if (text.startsWith('jsonpath=')) return pathWish(text.slice('jsonpath='.length), text);
  throw new Failure(`--for ${text} is not understood`, {
    hint: 'condition=TYPE[=STATUS], jsonpath={PATH}[=VALUE], create or delete',
  });
}

/** A condition older than the spec is no answer: its owner has not looked yet. */
function conditionWish(text: string, whole: string): Wish {
  const [type = '', status = 'true'] = text.split('=');
  if (type === '') throw new Failure(`--for ${whole} names no condition`);
  return {
    kind: 'condition',
    done: 'condition met',
    holds(object) {
      const conditions = valueAt(object, ['status', 'conditions']);
      if (object === undefined || !Array.isArray(conditions)) return false;
      const found = conditions.filter(isObject).find((c) => String(c.type).toLowerCase() === type.toLowerCase());
      if (found === undefined) return false;
      const seen = found.observedGeneration ?? valueAt(object, ['status', 'observedGeneration']);
      if (typeof seen === 'number' && seen < (object.metadata.generation ?? 0)) return false;
      return String(found.status).toLowerCase() === status.toLowerCase();
    },
  };
}

function pathWish(text: string, whole: string): Wish {
  // The path may hold an equals sign of its own, in a filter; the value comes after the brace, or after the last one outside brackets.
  const match = /^(\{.*\}|(?:\[[^\]]*\]|[^=[\]])+)(?:=(.*))?$/.exec(text.replace(/^'(.*)'/, '$1'));
  if (match?.[1] === undefined) throw new Failure(`--for ${whole} is not jsonpath={PATH}[=VALUE]`);
  const wanted = match[2]?.replace(/^(["'])(.*)\1$/, '$2');
  if (wanted === '') throw new Failure(`--for ${whole} has nothing after its equals sign`);
  const find = compileJsonPath(match[1]);
  return {
    kind: 'jsonpath',
    done: 'condition met',
    holds(object) {
      const values = object === undefined ? [] : find(object);
      return wanted === undefined ? values.length > 0 : values.some((value) => asText(value) === wanted);
    },
  };
}
