import jsonpatch, { type Operation } from 'fast-json-patch';
import { ApiError } from '../../resources/meta/api-error.ts';
import { encodeJson } from '../../resources/meta/json.ts';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import { goType } from '../admission/go-format.ts';

/** Operations one patch may have, as in Kubernetes. */
export const MAX_JSON_PATCH_OPERATIONS = 10_000;

export interface JsonPatch {
  readonly operations: readonly Operation[];
  /** Members of operations that RFC 6902 does not know, as paths: `[0].extra`. */
  readonly unknown: readonly string[];
}

/** Reads an RFC 6902 patch. Throws BadRequest when it is none, RequestEntityTooLarge when it is too long. */
export function decodeJsonPatch(body: unknown): JsonPatch {
  if (!Array.isArray(body)) {
    throw undecodable(
      `json: cannot unmarshal ${isObject(body) ? 'object' : goType(body)} into Go value of type []handlers.jsonPatchOp`,
    );
  }
  if (body.length > MAX_JSON_PATCH_OPERATIONS) {
    const why = `the allowed maximum operations in a JSON patch is ${MAX_JSON_PATCH_OPERATIONS}, got ${body.length}`;
    throw new ApiError('RequestEntityTooLarge', why);
  }
  return { operations: body.map(decodeOperation), unknown: body.flatMap(unknownMembers) };
}

/** The target with the patch applied; both are left as they are. Throws Invalid when an operation cannot be, or a test fails. */
export function applyJsonPatch(target: JsonObject, operations: readonly Operation[]): JsonObject {
  const budget = { copyable: MAX_COPIED_CHARACTERS };
  let document: unknown = structuredClone(target);
  for (const [index, operation] of operations.entries()) {
    for (const step of stepsOf(operation, document, budget, index)) document = applied(document, step, index);
  }
  if (isObject(document)) return document;
  throw rejected('the result is not an object');
}

/** What all copies of one patch may add together, so that copying into the copied cannot grow without bound. */
const MAX_COPIED_CHARACTERS = 3 * 1024 * 1024;

/**
 * The engine's steps for an operation. It copies through JSON text, which has no room for large integers, and looks at
 * inherited fields too: so values are looked up and copied here, and it only tests, adds, replaces and removes.
 */
function stepsOf(operation: Operation, document: unknown, budget: { copyable: number }, index: number): Operation[] {
  const { path } = operation;
  switch (operation.op) {
    case 'copy':
    case 'move': {
      const found = lookUp(document, operation.from);
      if (found === undefined) throw rejected(`from "${operation.from}" does not exist (operation ${index})`);
      if (operation.op === 'move') {
        if (path.startsWith(`${operation.from}/`))
          throw rejected(`cannot move a value into itself (operation ${index})`);
        if (path === operation.from) return [];
        return [
          { op: 'remove', path: operation.from },
          { op: 'add', path, value: found.value },
        ];
      }
      budget.copyable -= encodeJson(found.value).length;
      if (budget.copyable < 0) throw rejected(`the copies of the patch are too large (operation ${index})`);
      return [{ op: 'add', path, value: structuredClone(found.value) }];
    }
    case 'add':
      return [{ op: 'add', path, value: structuredClone(operation.value) }];
    case 'replace':
    case 'test':
    case 'remove':
      if (lookUp(document, path) === undefined) throw rejected(`path "${path}" does not exist (operation ${index})`);
      return [operation.op === 'replace' ? { ...operation, value: structuredClone(operation.value) } : operation];
    default:
      throw rejected(`operation ${index} is of an unknown kind`);
  }
}

function applied(document: unknown, step: Operation, index: number): unknown {
  try {
    return jsonpatch.applyOperation<unknown>(document, step, true, true, true, index).newDocument;
  } catch (error) {
    throw rejected(`${reasonOf(error)} (operation ${index})`, error);
  }
}

/** The value at an RFC 6901 pointer among own fields and items; undefined where there is none. */
function lookUp(document: unknown, pointer: string): { readonly value: unknown } | undefined {
  let value = document;
  for (const token of pointer === '' ? [] : pointer.split('/').slice(1)) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(value) && !/^(0|[1-9][0-9]*)$/.test(name)) return undefined;
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return { value };
}

const MEMBERS: ReadonlySet<string> = new Set(['op', 'path', 'from', 'value']);

function decodeOperation(item: unknown, index: number): Operation {
  if (!isObject(item)) throw undecodable(`operation ${index} is not an object`);
  const { op, path, from, value } = item;
  if (typeof path !== 'string') throw undecodable(`operation ${index} has no path`);
  for (const pointer of [path, from]) {
    if (typeof pointer === 'string' && namesPrototype(pointer))
      throw rejected(`operation ${index} names a field that is not data`);
  }
  switch (op) {
    case 'add':
    case 'replace':
    case 'test':
      if (!Object.hasOwn(item, 'value')) throw rejected(`operation ${index} (${op}) has no value`);
      return { op, path, value };
    case 'remove':
      return { op, path };
    case 'move':
    case 'copy':
      if (typeof from !== 'string') throw rejected(`operation ${index} (${op}) has no from`);
      return { op, path, from };
    default:
      throw rejected(`operation ${index} is of an unknown kind`);
  }
}

/** Pointers into what objects inherit. */
function namesPrototype(pointer: string): boolean {
  const tokens = pointer.split('/');
  return tokens.some((token, i) => token === '__proto__' || (token === 'prototype' && tokens[i - 1] === 'constructor'));
}

function unknownMembers(item: unknown, index: number): string[] {
  return isObject(item) ? Object.keys(item).flatMap((name) => (MEMBERS.has(name) ? [] : [`[${index}].${name}`])) : [];
}

function undecodable(why: string): ApiError {
  return new ApiError('BadRequest', `error decoding patch: ${why}`);
}

function rejected(why: string, cause?: unknown): ApiError {
  const message = `the server rejected our request due to an error in our request: ${why}`;
  return new ApiError('Invalid', message, cause === undefined ? {} : { cause });
}

/** The first line of the engine's message; the others repeat the whole document. */
function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message.split('\n')[0] : undefined) ?? 'the patch cannot be applied';
}
