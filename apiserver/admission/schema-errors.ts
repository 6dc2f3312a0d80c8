import { isObject, jsonEqual } from '../../resources/meta/object.ts';
import { Effort, EffortSpent, type Spend } from './effort.ts';
import { compilePattern } from './safe-pattern.ts';
import type { SchemaNode } from './schema-node.ts';

/** One way in which a value is not as its schema says. */
export interface SchemaError {
  readonly keyword: string;
  readonly steps: readonly (string | number)[];
  /** How many of the steps lead to the schema it is of, conditions within that schema aside. */
  readonly depth: number;
  readonly node: SchemaNode;
  /** The name of a required field that is missing. */
  readonly missing?: string;
}

/** More are not looked for: nobody reads them. */
const MOST_ERRORS = 1_000;
/** What one check may take, in steps of effort: about 0.2 s. A value as large as the store takes, under a schema of ordinary make, needs a third. */
const BUDGET = 20_000_000;
const EFFORT_A_VALUE = 10;
const EFFORT_A_WORD = 10;
const EFFORT_AN_ERROR = 50;

/** Everything in which a value is not as its schema says, up to a thousand; where it takes too much to tell, that is the last (`effort`). */
export function schemaErrors(root: SchemaNode, value: unknown): readonly SchemaError[] {
  const errors: SchemaError[] = [];
  const effort: Shared = { spend: new Effort(BUDGET).spend, last: undefined };
  const at: At = { above: undefined, step: '', depth: 0, errors, within: false, effort };
  try {
    check(root, value, at);
  } catch (error) {
    if (!(error instanceof EffortSpent)) throw error;
    const { last = at } = effort;
    errors.push({ keyword: 'effort', steps: stepsTo(last), depth: last.depth, node: root });
  }
  return errors;
}

/** What all of one check has in common. */
interface Shared {
  readonly spend: Spend;
  /** The place last looked at. */
  last: At | undefined;
}

/** A place within the value that is checked. */
interface At {
  readonly above: At | undefined;
  readonly step: string | number;
  readonly depth: number;
  readonly errors: SchemaError[];
  /** Within a condition, whose errors are of the schema around it. */
  readonly within: boolean;
  readonly effort: Shared;
}

function stepsTo(place: At): readonly (string | number)[] {
  const steps: (string | number)[] = [];
  for (let at = place; at.above !== undefined; at = at.above) steps.push(at.step);
  return steps.reverse();
}

/** The largest double below 2^63: a BigInt is an integer of 64 bits, and stays one when it is rounded. */
const LARGEST = 2 ** 63 - 1024;

/** BigInts are compared as numbers. */
const plain = (value: unknown): unknown =>
  typeof value === 'bigint' ? Math.max(-LARGEST, Math.min(LARGEST, Number(value))) : value;

function check(node: SchemaNode, given: unknown, at: At): void {
  if (at.errors.length >= MOST_ERRORS) return;
  at.effort.last = at;
  at.effort.spend(EFFORT_A_VALUE);
  const value = plain(given);
  const fail: Fail = (keyword, missing) => {
    at.effort.spend(EFFORT_AN_ERROR);
    if (at.errors.length >= MOST_ERRORS) return;
    const what = missing === undefined ? {} : { missing };
    at.errors.push({ keyword, steps: stepsTo(at), depth: at.depth, node, ...what });
  };
  if (node.types.length > 0 && !node.types.some((type) => isType(type, value))) fail('type');
  else if (isBeyondInteger(node, value)) fail('integer');
  if (typeof value === 'number') numberErrors(node, value, fail);
  if (typeof value === 'string') stringErrors(node, value, at.effort.spend, fail);
  if (!isWord(node, value, at.effort.spend)) fail('enum');
  conditionErrors(node, value, at, fail);
  if (Array.isArray(value)) listErrors(node, value, at, fail);
  else if (isObject(value)) objectErrors(node, value, at, fail);
}

type Fail = (keyword: string, missing?: string) => void;

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

function isWord({ words }: SchemaNode, value: unknown, spend: Spend): boolean {
  if (words === undefined || words.has(value)) return true;
  if (typeof value !== 'object' || value === null) return false;
  spend(words.size * EFFORT_A_WORD);
  for (const word of words) if (typeof word === 'object' && sameAsWord(word, value, spend)) return true;
  return false;
}

function sameAsWord(word: unknown, value: unknown, spend: Spend): boolean {
  spend(EFFORT_A_WORD);
  if (Array.isArray(word))
    return (
      Array.isArray(value) &&
      word.length === value.length &&
      word.every((item, i) => sameAsWord(item, plain(value[i]), spend))
    );
  if (!isObject(word) || !isObject(value)) return jsonEqual(word, plain(value));
  const names = Object.keys(word);
  spend(names.length * EFFORT_A_WORD);
  return (
    names.length === Object.keys(value).length &&
    names.every((name) => Object.hasOwn(value, name) && sameAsWord(word[name], plain(value[name]), spend))
  );
}

function numberErrors({ schema }: SchemaNode, value: number, fail: Fail): void {
  const { minimum, maximum, multipleOf } = schema;
  if (maximum !== undefined && (schema.exclusiveMaximum === true ? value >= maximum : value > maximum))
    fail(schema.exclusiveMaximum === true ? 'exclusiveMaximum' : 'maximum');
  if (minimum !== undefined && (schema.exclusiveMinimum === true ? value <= minimum : value < minimum))
    fail(schema.exclusiveMinimum === true ? 'exclusiveMinimum' : 'minimum');
  if (multipleOf !== undefined && !Number.isInteger(value / multipleOf)) fail('multipleOf');
}

function stringErrors({ schema, format }: SchemaNode, text: string, spend: Spend, fail: Fail): void {
  const { maxLength, minLength, pattern } = schema;
  if (maxLength !== undefined && text.length > maxLength && pointsOf(text, spend) > maxLength) fail('maxLength');
  if (minLength !== undefined && (text.length < minLength || pointsOf(text, spend) < minLength)) fail('minLength');
  if (pattern !== undefined && !compilePattern(pattern, spend).test(text, spend)) fail('pattern');
  if (format === undefined) return;
  spend(text.length);
  if (!format(text)) fail('format');
}

/** How many characters a text has, where two units are one. */
function pointsOf(text: string, spend: Spend): number {
  spend(text.length);
  let points = 0;
  for (let i = 0; i < text.length; i++) {
    if ((text.codePointAt(i) ?? 0) > 0xffff) i++;
    points++;
  }
  return points;
}

function conditionErrors(node: SchemaNode, value: unknown, at: At, fail: Fail): void {
  const { not, anyOf = [], oneOf = [], allOf = [] } = node;
  const branch = (part: SchemaNode): SchemaError[] => {
    const errors: SchemaError[] = [];
    check(part, value, { ...at, within: true, errors });
    return errors;
  };
  const tell = (found: readonly (readonly SchemaError[])[]) => {
    for (const errors of found) for (const error of errors) if (at.errors.length < MOST_ERRORS) at.errors.push(error);
  };
  if (not !== undefined && branch(not).length === 0) fail('not');
  if (anyOf.length > 0) {
    const found: SchemaError[][] = [];
    const passes = anyOf.some((part) => {
      const errors = branch(part);
      found.push(errors);
      return errors.length === 0;
    });
    if (!passes) {
      tell(found);
      fail('anyOf');
    }
  }
  if (oneOf.length > 0) {
    const found: SchemaError[][] = [];
    let passed = 0;
    // Two that pass are wrong, whatever the others say.
    for (const part of oneOf) {
      const errors = branch(part);
      found.push(errors);
      if (errors.length === 0 && ++passed === 2) break;
    }
    if (passed !== 1) {
      tell(found);
      fail('oneOf');
    }
  }
  for (const part of allOf) tell([branch(part)]);
}

function below(at: At, step: string | number): At {
  const { depth, errors, within, effort } = at;
  return { above: at, step, depth: within ? depth : depth + 1, errors, within, effort };
}

function listErrors({ schema, items }: SchemaNode, list: readonly unknown[], at: At, fail: Fail): void {
  if (schema.maxItems !== undefined && list.length > schema.maxItems) fail('maxItems');
  if (schema.minItems !== undefined && list.length < schema.minItems) fail('minItems');
  if (items === undefined) return;
  for (const [i, item] of list.entries()) check(items, item, below(at, i));
}

function objectErrors(node: SchemaNode, value: Readonly<Record<string, unknown>>, at: At, fail: Fail): void {
  const { schema, required, values } = node;
  const names = Object.keys(value);
  if (schema.maxProperties !== undefined && names.length > schema.maxProperties) fail('maxProperties');
  if (schema.minProperties !== undefined && names.length < schema.minProperties) fail('minProperties');
  at.effort.spend(names.length + required.length);
  for (const missing of required)
    if (!Object.hasOwn(value, missing) || value[missing] === undefined) fail('required', missing);
  for (const name of names) {
    const child = node.property(name) ?? values;
    if (child !== undefined && value[name] !== undefined) check(child, value[name], below(at, name));
  }
}
