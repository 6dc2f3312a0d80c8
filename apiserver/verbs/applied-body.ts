import { load, YAMLException } from 'js-yaml';
import { ApiError } from '../../resources/meta/api-error.ts';
import type { Kind } from '../../resources/meta/define-kind.ts';
import { MAX_JSON_DEPTH, parseJsonBytes } from '../../resources/meta/json.ts';
import { JsonSyntaxError } from '../../resources/meta/json-syntax-error.ts';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import type { ServerRequest } from '../requests/server-request.ts';
import { checkedType, MAX_BODY_BYTES } from './body.ts';

export interface AppliedBody {
  readonly config: JsonObject & { metadata: JsonObject };
  readonly duplicates: readonly string[];
}

const MAX_ALIASES = 100;
/** What aliases may blow a body up to, in values. */
const MAX_VALUES = 200_000;

/** An applied configuration: YAML, of which JSON is a part. JSON keeps what YAML's reader loses: 64-bit integers, and which fields are there twice. */
export async function readApplied(
  request: ServerRequest,
  kind: Pick<Kind, 'group' | 'version' | 'kind' | 'origin'>,
): Promise<AppliedBody> {
  const bytes = await request.body(MAX_BODY_BYTES);
  const { value, duplicates } = json(bytes) ?? { value: yaml(bytes), duplicates: [] };
  if (!isObject(value)) throw undecodable('the configuration is not an object');
  return { config: checkedType(value, kind, 'the applied configuration'), duplicates };
}

function json(bytes: Uint8Array) {
  try {
    return parseJsonBytes(bytes);
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}

function yaml(bytes: Uint8Array): unknown {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    const value = load(text, { maxAliases: MAX_ALIASES, maxDepth: MAX_JSON_DEPTH });
    return asJson(value, { left: MAX_VALUES });
  } catch (error) {
    if (error instanceof YAMLException) throw undecodable(error.reason, error);
    if (error instanceof TypeError) throw undecodable('the body is not UTF-8', error);
    throw error;
  }
}

/** A copy in which nothing is shared and everything is JSON; what JSON cannot carry, such as an alias inside what it stands for, is refused. */
function asJson(value: unknown, budget: { left: number }, depth = 0): unknown {
  if (depth > MAX_JSON_DEPTH) throw undecodable(`it is nested more than ${MAX_JSON_DEPTH} deep`);
  if (budget.left-- <= 0) throw undecodable(`its aliases expand to more than ${MAX_VALUES} values`);
  if (Array.isArray(value)) return value.map((item) => asJson(item, budget, depth + 1));
  if (isObject(value)) {
    const entries = Object.entries(value).map(([name, field]) => [name, asJson(field, budget, depth + 1)] as const);
    return Object.fromEntries(entries);
  }
  if (
    typeof value === 'number' &&
    !(Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value)))
  )
    throw undecodable(`the number ${value} is not kept exactly`);
  return value;
}

function undecodable(why: string, cause?: unknown): ApiError {
  return new ApiError('BadRequest', `error decoding YAML: ${why}`, { cause });
}
