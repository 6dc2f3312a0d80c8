import { isObject, jsonEqual } from '../../resources/meta/object.ts';
import type { SchemaNode } from './schema-node.ts';

/** One way in which a value is not as its schema says. */
export interface SchemaError {
  readonly keyword: string;
  readonly steps: readonly (string | number)[];
  /** How many of the steps lead to the schema it is of, conditions within that schema aside. */
  readonly depth: number;
  readonly value: unknown;
  readonly node: SchemaNode;
  /** The name of a required field that is missing. */
  readonly missing?: string;
}

/** More are not looked for: nobody reads them. */
const MOST_ERRORS = 1_000;

/** Everything in which a value is not as its schema says, up to a thousand. */
export function schemaErrors(root: SchemaNode, value: unknown): readonly SchemaError[] {
  const errors: SchemaError[] = [];
  check(root, value, { steps: [], depth: 0, errors, within: false });
  return errors;
}

interface At {
  readonly steps: readonly (string | number)[];
  readonly depth: number;
  readonly errors: SchemaError[];
  /** Within a condition, whose errors are of the schema around it. */
  readonly within: boolean;
}

function check(node: SchemaNode, value: unknown, at: At): void {
  if (at.errors.length >= MOST_ERRORS) return;
  const fail = (keyword: string, more: { readonly missing?: string } = {}) =>
    at.errors.push({ keyword, steps: at.steps, depth: at.depth, value, node, ...more });
  if (node.types.length > 0 && !node.types.some((type) => isType(type, value))) fail('type');
  else if (isBeyondInteger(node, value)) fail('integer');
  if (typeof value === 'number') numberErrors(node, value, fail);
  if (typeof value === 'string') stringErrors(node, value, fail);
  if (node.words !== undefined && !isWord(node, value)) fail('enum');
  conditionErrors(node, value, at, fail);
  if (Array.isArray(value)) listErrors(node, value, at, fail);
  else if (isObject(value)) objectErrors(node, value, at, fail);
}

type Fail = (keyword: string, more?: { readonly missing?: string }) => void;

function isType(type: string, value: unknown): boolean {
  switch (type) {
    case 'integer':
      return Number.isInteger(value);
    case 'number':
      return typeof value === 'number' && Number.isFinite(value);
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'null':
      return value === null;
    default:
      return typeof value === type;
  }
}

/** What is beyond 64 bits is a number, and no integer. */
function isBeyondInteger({ types }: SchemaNode, value: unknown): boolean {
  return typeof value === 'number' && types.includes('integer') && Math.abs(value) >= 2 ** 63;
}

function isWord({ words }: SchemaNode, value: unknown): boolean {
  if (words === undefined || words.has(value)) return true;
  if (typeof value !== 'object' || value === null) return false;
  for (const word of words) if (typeof word === 'object' && jsonEqual(word, value)) return true;
  return false;
}

function numberErrors({ schema }: SchemaNode, value: number, fail: Fail): void {
  const { minimum, maximum, multipleOf } = schema;
  if (maximum !== undefined && (schema.exclusiveMaximum === true ? value >= maximum : value > maximum))
    fail(schema.exclusiveMaximum === true ? 'exclusiveMaximum' : 'maximum');
  if (minimum !== undefined && (schema.exclusiveMinimum === true ? value <= minimum : value < minimum))
    fail(schema.exclusiveMinimum === true ? 'exclusiveMinimum' : 'minimum');
  if (multipleOf !== undefined && !Number.isInteger(value / multipleOf)) fail('multipleOf');
}

function stringErrors({ schema, pattern, format }: SchemaNode, text: string, fail: Fail): void {
  const { maxLength, minLength } = schema;
  if (maxLength !== undefined && text.length > maxLength && [...text].length > maxLength) fail('maxLength');
  if (minLength !== undefined && (text.length < minLength || [...text].length < minLength)) fail('minLength');
  if (pattern !== undefined && !pattern.test(text)) fail('pattern');
  if (format !== undefined && !format(text)) fail('format');
}

function conditionErrors(node: SchemaNode, value: unknown, at: At, fail: Fail): void {
  const branch = (part: SchemaNode): SchemaError[] => {
    const errors: SchemaError[] = [];
    check(part, value, { ...at, within: true, errors });
    return errors;
  };
  if (node.not !== undefined && branch(node.not).length === 0) fail('not');
  if (node.anyOf !== undefined && node.anyOf.length > 0) {
    const found = node.anyOf.map(branch);
    if (found.every((errors) => errors.length > 0)) {
      for (const errors of found) at.errors.push(...errors);
      fail('anyOf');
    }
  }
  if (node.oneOf !== undefined && node.oneOf.length > 0) {
    const found = node.oneOf.map(branch);
    if (found.filter((errors) => errors.length === 0).length !== 1) {
      for (const errors of found) at.errors.push(...errors);
      fail('oneOf');
    }
  }
  for (const part of node.allOf ?? []) at.errors.push(...branch(part));
}

function below(at: At, step: string | number): At {
  return { ...at, steps: [...at.steps, step], depth: at.within ? at.depth : at.depth + 1 };
}

function listErrors({ schema, items }: SchemaNode, list: readonly unknown[], at: At, fail: Fail): void {
  if (schema.maxItems !== undefined && list.length > schema.maxItems) fail('maxItems');
  if (schema.minItems !== undefined && list.length < schema.minItems) fail('minItems');
  if (items === undefined) return;
  for (const [i, item] of list.entries()) check(items, item, below(at, i));
}

function objectErrors(node: SchemaNode, value: Readonly<Record<string, unknown>>, at: At, fail: Fail): void {
  const { schema, properties, required, values } = node;
  const names = Object.keys(value);
  if (schema.maxProperties !== undefined && names.length > schema.maxProperties) fail('maxProperties');
  if (schema.minProperties !== undefined && names.length < schema.minProperties) fail('minProperties');
  for (const missing of required)
    if (!Object.hasOwn(value, missing) || value[missing] === undefined) fail('required', { missing });
  for (const name of names) {
    const child = properties.get(name) ?? values;
    if (child !== undefined && value[name] !== undefined) check(child, value[name], below(at, name));
  }
}
