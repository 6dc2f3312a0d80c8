import jsonpatch, { type Operation } from 'fast-json-patch';
import { ApiError } from '../../resources/meta/api-error.ts';
import { encodeJson } from '../../resources/meta/json.ts';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import { typeName } from '../admission/go-format.ts';

/** Operations one patch may have, as in Kubernetes. */
const MAX_JSON_PATCH_OPERATIONS = 10_000;

interface JsonPatch {
  readonly operations: readonly Operation[];
  /** Members of operations that RFC 6902 does not know, as paths: `[0].extra`. */
  readonly unknown: readonly string[];
}

/** Reads an RFC 6902 patch. Throws BadRequest when it is none, RequestEntityTooLarge when it is too long. */
export function decodeJsonPatch(body: unknown): JsonPatch {
  if (!Array.isArray(body)) {
    throw undecodable(`json: cannot unmarshal ${jsonWord(body)} into Go value of type []${GO_OPERATION}`);
  }
  if (body.length > MAX_JSON_PATCH_OPERATIONS) {
    const why = `The allowed maximum operations in a JSON patch is ${MAX_JSON_PATCH_OPERATIONS}, got ${body.length}`;
    throw new ApiError('RequestEntityTooLarge', `Request entity too large: ${why}`);
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
  const grows = operation.op === 'add' || operation.op === 'copy';
  const path = plainPointer(document, operation.path, grows);
  switch (operation.op) {
    case 'copy':
    case 'move': {
      const from = plainPointer(document, operation.from, false);
      const found = lookUp(document, from);
      if (found === undefined) throw rejected(`from "${from}" does not exist (operation ${index})`);
      if (operation.op === 'move') {
        if (path.startsWith(`${from}/`)) throw rejected(`cannot move a value into itself (operation ${index})`);
        if (path === from) return [];
        return [
          { op: 'remove', path: from },
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
    case 'remove': {
      const { op } = operation;
      if (lookUp(document, path) === undefined) {
        const member = op !== 'remove' && isMember(document, path);
        // The real server's engine adds the member that a replace does not find, and takes what is absent for null.
        if (member && op === 'replace') return [{ op: 'add', path, value: structuredClone(operation.value) }];
        if (member && op === 'test' && operation.value === null) return [];
        throw rejected(`path "${path}" does not exist (operation ${index})`);
      }
      return [op === 'replace' ? { op, path, value: structuredClone(operation.value) } : { ...operation, path }];
    }
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

/** Whether a pointer names a member, there or not, of an object that is there. */
function isMember(document: unknown, pointer: string): boolean {
  const slash = pointer.lastIndexOf('/');
  return slash >= 0 && isObject(lookUp(document, pointer.slice(0, slash))?.value);
}

/**
 * A pointer whose indexes are plain ones. The real server's engine reads them as signed decimals, negative ones from the end; when an item
 * is added, the end is the place after the last.
 */
function plainPointer(document: unknown, pointer: string, grows: boolean): string {
  const tokens = pointer.split('/');
  for (const [i, token] of tokens.entries()) {
    if (!/^([+-][0-9]+|0[0-9]+)$/.test(token)) continue;
    const list = lookUp(document, tokens.slice(0, i).join('/'))?.value;
    if (!Array.isArray(list)) continue;
    const index = Number(token);
    const end = grows && i === tokens.length - 1 ? list.length + 1 : list.length;
    tokens[i] = String(index < 0 && index >= -end ? index + end : index);
  }
  return tokens.join('/');
}

const MEMBERS: ReadonlySet<string> = new Set(['op', 'path', 'from', 'value']);

function decodeOperation(item: unknown, index: number): Operation {
  if (item === null) throw rejected(`operation ${index} is null`);
  if (!isObject(item))
    throw undecodable(`json: cannot unmarshal ${jsonWord(item)} into Go value of type ${GO_OPERATION}`);
  for (const name of ['op', 'path', 'from']) {
    const member = item[name] ?? '';
    if (typeof member === 'string') continue;
    const where = `Go struct field jsonPatchOp.${name} of type string`;
    throw undecodable(`json: cannot unmarshal ${jsonWord(member)} into ${where}`);
  }
  const { op, path, from, value } = item;
  if (typeof path !== 'string') throw rejected(`operation ${index} has no path`);
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

/** What the real server decodes an operation into; clients see its name. */
const GO_OPERATION = 'handlers.jsonPatchOp';

/** The type of a value as Go's decoder calls it. */
function jsonWord(value: unknown): string {
  const name = typeName(value);
  if (name === 'boolean') return 'bool';
  return name === 'integer' ? 'number' : name;
}

function undecodable(why: string): ApiError {
  return new ApiError('BadRequest', `error decoding patch: ${why}`);
}

function rejected(why: string, cause?: unknown): ApiError {
  const message = `the server rejected our request due to an error in our request: ${why}`;
  return new ApiError('Invalid', message, { details: {}, ...(cause === undefined ? {} : { cause }) });
}

/** The first line of the engine's message; the others repeat the whole document. */
function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message.split('\n')[0] : undefined) ?? 'the patch cannot be applied';
}
