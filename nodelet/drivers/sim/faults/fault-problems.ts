import type { TLocalizedValidationError } from 'typebox/error';
import { Errors } from 'typebox/schema';
import { isObject, type JsonObject } from '../../../../resources/meta/object.ts';
import { Type } from '../../../../resources/meta/type.ts';
import { FAULTS, type Fault, type FaultName } from './fault.ts';
import { spanBounds } from './fault-duration.ts';

export type FieldPath = readonly (string | number)[];

/** What is wrong with a field, in words that need no other. */
export interface FaultProblem {
  readonly path: FieldPath;
  readonly words: string;
}

const FILE = Type.Object(
  {
    seed: Type.Optional(Type.Integer({ minimum: 0, maximum: 2 ** 32 - 1, title: 'a whole number below 4294967296' })),
    faults: Type.Array(Type.Unsafe<unknown>({}), { title: 'a list of faults' }),
  },
  { additionalProperties: false, title: 'an object with "faults", a list' },
);

const NAMES = Object.keys(FAULTS);
const isName = (name: unknown): name is FaultName => typeof name === 'string' && Object.hasOwn(FAULTS, name);
/** Fields that hold spans of time. */
const SPANS = ['after', 'every', 'for', 'running', 'takes'] as const;
/** Those that last until they are ended, if nothing else is said. */
const LASTING: ReadonlySet<FaultName> = new Set(['LostHeartbeat', 'Partition', 'DiskFull']);
const TIMED: ReadonlySet<FaultName> = new Set([...LASTING, 'ClockStep']);

/** All that is wrong with the value of a file of faults. */
export function problemsOf(value: unknown): readonly FaultProblem[] {
  const problems = schemaProblems(FILE, value, []);
  if (problems.length > 0 || !isObject(value) || !Array.isArray(value.faults)) return problems;
  return value.faults.flatMap((fault: unknown, at) => faultProblems(fault, ['faults', at]));
}

function faultProblems(fault: unknown, path: FieldPath): readonly FaultProblem[] {
  if (!isObject(fault))
    return [{ path, words: `${shown(fault)} is not a fault, such as {fault: LostGuest, after: 1m}` }];
  if (fault.fault === undefined) return [{ path, words: `fault is missing: one of ${NAMES.join(', ')}` }];
  if (!isName(fault.fault))
    return [
      { path: [...path, 'fault'], words: `there is no fault ${shown(fault.fault)}; there are ${NAMES.join(', ')}` },
    ];
  const problems = schemaProblems(FAULTS[fault.fault], fault, path);
  return problems.length > 0 ? problems : senseProblems(fault as Fault, path);
}

function schemaProblems(schema: object, value: unknown, path: FieldPath): readonly FaultProblem[] {
  const [, errors] = Errors(schema, value);
  return errors.flatMap((error) => problemOf(error, schema as Titled, value, path));
}

interface Titled {
  readonly title?: string;
  readonly properties?: Readonly<Record<string, Titled>>;
  readonly items?: Titled;
}

function problemOf(error: TLocalizedValidationError, schema: Titled, value: unknown, path: FieldPath): FaultProblem[] {
  const inside = error.instancePath.split('/').slice(1).map(unescaped);
  const steps = inside.map((part) => (/^\d+$/.test(part) ? Number(part) : part));
  const at = [...path, ...steps];
  switch (error.keyword) {
    // Told by the object that has the field.
    case 'boolean':
      return [];
    case 'additionalProperties': {
      const known = Object.keys(schema.properties ?? {}).join(', ');
      return error.params.additionalProperties.map((name) => ({
        path: [...at, name],
        words: `there is no such field here; there are ${known}`,
      }));
    }
    case 'required':
      return error.params.requiredProperties.map((name) => ({
        path: at,
        words: `${name} is missing: ${schema.properties?.[name]?.title ?? name}`,
      }));
    default:
      return [{ path: at, words: `${shown(valueAt(value, inside))} is not ${titleAt(schema, inside)}` }];
  }
}

/** What a schema cannot say. */
function senseProblems(fault: Fault, path: FieldPath): readonly FaultProblem[] {
  const fields = fault as Fault & {
    readonly for?: string;
    readonly operation?: string;
    readonly vms?: readonly string[];
  };
  const say = (field: string, words: string): FaultProblem => ({ path: [...path, field], words });
  const problems: FaultProblem[] = [];
  for (const field of SPANS) {
    const text = (fault as JsonObject)[field];
    if (typeof text !== 'string') continue;
    const [least, most] = spanBounds(text);
    if (least > most) problems.push(say(field, `"${text}" ends before it begins`));
    if (field === 'every' && least === 0) problems.push(say(field, `"${text}" leaves no time between`));
  }
  if (LASTING.has(fault.fault) && fault.every !== undefined && fields.for === undefined)
    problems.push(say('every', `what comes again has to end: for is missing`));
  const timed = TIMED.has(fault.fault) || (fault.fault === 'NodeletCrash' && fault.step === undefined);
  if (timed && fault.times !== undefined && fault.times > 1 && fault.every === undefined)
    problems.push(say('times', `${fault.times} times, but every is missing`));
  if (fault.fault === 'NodeletCrash' && fault.step === undefined)
    for (const field of ['vms', 'skip'] as const)
      if (fault[field] !== undefined) problems.push(say(field, 'is about steps, and step is missing'));
  if (fields.operation === 'List' && fields.vms !== undefined)
    problems.push(say('vms', 'the operation List is of no VM'));
  return problems;
}

/** `faults[0].hosts[1]`. */
export function pathText(path: FieldPath): string {
  return path.map((part, i) => (typeof part === 'number' ? `[${part}]` : i === 0 ? part : `.${part}`)).join('');
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (at, part) => (typeof at === 'object' && at !== null ? (at as JsonObject)[part] : at),
    value,
  );
}

/** What a field takes, or the nearest thing around it that says so. */
function titleAt(schema: Titled, path: readonly string[]): string {
  let at: Titled | undefined = schema;
  let title = schema.title;
  for (const part of path) {
    at = at?.properties?.[part] ?? at?.items;
    title = at?.title ?? title;
  }
  return title ?? 'what is expected here';
}

function shown(value: unknown): string {
  const text =
    JSON.stringify(value, (_, item: unknown) => (typeof item === 'bigint' ? String(item) : item)) ?? 'nothing';
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

const unescaped = (part: string) => part.replaceAll('~1', '/').replaceAll('~0', '~');
