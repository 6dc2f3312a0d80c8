import { isObject, jsonEqual } from '../../resources/meta/object.ts';

/**
 * The part of JSONPath that printer columns use (kubernetes.io, "JSONPath support"): `.a.b`, `.a\.b`, `['x']`, `[0]`, `[-1]`, `[*]`,
 * `.*` and filters `[?(@.type=="Ready")]`, `[?(@.spec.size>=2)]`, `[?(@.x)]`.
 */
export type JsonPath = readonly Step[];

type Step =
  | { readonly step: 'field'; readonly name: string }
  | { readonly step: 'index'; readonly at: number }
  | { readonly step: 'all' }
  | { readonly step: 'filter'; readonly left: Operand; readonly operator?: Operator; readonly right?: Operand };

type Operand = { readonly path: JsonPath } | { readonly literal: string | number | boolean };
type Operator = '==' | '!=' | '<' | '<=' | '>' | '>=';

const LONGEST = 1000;
const FIELD = /\.((?:[^.[\]()@?*'"\s\\=!<>]|\\.)+)/y;
const QUOTED = /\[\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\s*\]/y;
const INDEX = /\[\s*(-?[0-9]{1,9})\s*\]/y;
const ALL = /\.\*|\[\s*\*\s*\]/y;
const FILTER_START = /\[\s*\?\(\s*/y;
const FILTER_END = /\s*\)\s*\]/y;
const OPERATOR = /\s*(==|!=|<=|>=|<|>)\s*/y;
const LITERAL = /'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|(-?[0-9]+(?:\.[0-9]+)?)|(true|false)/y;

/** The path a text stands for. Undefined when it is none, or is longer than 1000 characters. */
export function parseJsonPath(text: string): JsonPath | undefined {
  if (text.length > LONGEST) return undefined;
  const reader = new Reader(text.startsWith('$') ? text.slice(1) : text);
  if (reader.atEnd()) return undefined;
  const steps = readSteps(reader, true);
  return steps !== undefined && reader.atEnd() ? steps : undefined;
}

/** Every value a path leads to, in order. What is missing or of another shape leads nowhere. */
export function valuesAt(path: JsonPath, root: unknown): readonly unknown[] {
  let values: readonly unknown[] = [root];
  for (const step of path) values = values.flatMap((value) => follow(step, value));
  return values;
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  atEnd(): boolean {
    return this.#at === this.#text.length;
  }

  /** Reads what a sticky expression matches here, or nothing. */
  take(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.#at;
    const match = expression.exec(this.#text);
    if (match === null) return undefined;
    this.#at += match[0].length;
    return match;
  }
}

const unescaped = (text: string): string => text.replace(/\\(.)/gs, '$1');

function readSteps(reader: Reader, filters: boolean): JsonPath | undefined {
  const steps: Step[] = [];
  for (;;) {
    const step = readStep(reader);
    if (step !== undefined) {
      steps.push(step);
    } else if (filters && reader.take(FILTER_START) !== undefined) {
      const filter = readFilter(reader);
      if (filter === undefined) return undefined;
      steps.push(filter);
    } else {
      return steps;
    }
  }
}

function readStep(reader: Reader): Step | undefined {
  if (reader.take(ALL) !== undefined) return { step: 'all' };
  const field = reader.take(FIELD);
  if (field !== undefined) return { step: 'field', name: unescaped(field[1] ?? '') };
  const quoted = reader.take(QUOTED);
  if (quoted !== undefined) return { step: 'field', name: unescaped(quoted[1] ?? quoted[2] ?? '') };
  const index = reader.take(INDEX);
  return index === undefined ? undefined : { step: 'index', at: Number(index[1]) };
}

function readFilter(reader: Reader): Step | undefined {
  const left = readOperand(reader);
  if (left === undefined) return undefined;
  const operator = reader.take(OPERATOR)?.[1] as Operator | undefined;
  const right = operator === undefined ? undefined : readOperand(reader);
  if (operator !== undefined && right === undefined) return undefined;
  if (reader.take(FILTER_END) === undefined) return undefined;
  return {
    step: 'filter',
    left,
    ...(operator === undefined || right === undefined ? {} : { operator, right }),
  };
}

function readOperand(reader: Reader): Operand | undefined {
  if (reader.take(/@/y) !== undefined) {
    const path = readSteps(reader, false);
    return path === undefined ? undefined : { path };
  }
  const literal = reader.take(LITERAL);
  if (literal === undefined) return undefined;
  const [, single, double, number, word] = literal;
  if (number !== undefined) return { literal: Number(number) };
  if (word !== undefined) return { literal: word === 'true' };
  return { literal: unescaped(single ?? double ?? '') };
}

function follow(step: Step, value: unknown): readonly unknown[] {
  switch (step.step) {
    case 'field':
      return isObject(value) && Object.hasOwn(value, step.name) ? [value[step.name]] : [];
    case 'index': {
      if (!Array.isArray(value)) return [];
      const at = step.at < 0 ? value.length + step.at : step.at;
      return at >= 0 && at < value.length ? [value[at]] : [];
    }
    case 'all':
      return Array.isArray(value) ? value : isObject(value) ? Object.values(value) : [];
    case 'filter':
      return Array.isArray(value) ? value.filter((item) => holds(step, item)) : [];
    default:
      throw new Error(`unhandled step ${step satisfies never}`);
  }
}

function holds(filter: Extract<Step, { step: 'filter' }>, item: unknown): boolean {
  const left = resolve(filter.left, item);
  if (left.length === 0) return false;
  if (filter.operator === undefined || filter.right === undefined) return true;
  const right = resolve(filter.right, item);
  return right.length > 0 && compare(left[0], filter.operator, right[0]);
}

const resolve = (operand: Operand, item: unknown): readonly unknown[] =>
  'literal' in operand ? [operand.literal] : valuesAt(operand.path, item);

function compare(left: unknown, operator: Operator, right: unknown): boolean {
  if (operator === '==') return jsonEqual(left, right);
  if (operator === '!=') return !jsonEqual(left, right);
  const both =
    (typeof left === 'number' && typeof right === 'number') || (typeof left === 'string' && typeof right === 'string');
  if (!both) return false;
  switch (operator) {
    case '<':
      return left < right;
    case '<=':
      return left <= right;
    case '>':
      return left > right;
    case '>=':
      return left >= right;
    default:
      throw new Error(`unhandled operator ${operator satisfies never}`);
  }
}
