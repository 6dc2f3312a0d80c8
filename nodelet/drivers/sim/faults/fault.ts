import type { Static } from 'typebox';
import { oneOf, type Schema } from '../../../../resources/meta/schema.ts';
import { Type } from '../../../../resources/meta/type.ts';
import { SPAN_PATTERN, STEP_PATTERN } from './fault-duration.ts';

/*
 * What a simulated host can be made to do wrong: the vocabulary of `--faults FILE`, and of tests. Each kind of fault is one schema; `title` says what a
 * field takes, for whoever wrote something else there.
 */

export const OPERATIONS = ['Create', 'Start', 'Stop', 'Pause', 'Resume', 'Remove', 'Exec', 'List'] as const;
export type Operation = (typeof OPERATIONS)[number];

/** Moments of a nodelet's work that it can die at. `Write`: it changes something at the API server. */
export const STEPS = [
  'BeforeCreate',
  'AfterCreate',
  'BeforeStart',
  'DuringStart',
  'AfterStart',
  'BeforeStop',
  'AfterStop',
  'BeforePause',
  'AfterPause',
  'BeforeResume',
  'AfterResume',
  'BeforeRemove',
  'AfterRemove',
  'BeforeWrite',
  'AfterWrite',
] as const;
export type Step = (typeof STEPS)[number];

const SPAN = 'a duration such as 10s, 1m30s or 250ms, or a range such as 10s..30s';
const span = (description: string) => Type.String({ pattern: SPAN_PATTERN, title: SPAN, description });
const patterns = (title: string, description: string) =>
  Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 253, title: 'a name' }), { minItems: 1, title, description }),
  );

const hosts = patterns('a list of hosts, in which * stands for any letters', 'Which hosts; all when absent.');
const vms = patterns(
  'a list of VMs as NAMESPACE/NAME, in which * stands for any letters',
  'Which VMs, as NAMESPACE/NAME; all when absent.',
);
const after = Type.Optional(span('How long after the start it begins; at once when absent.'));
const every = Type.Optional(span('It comes again and again, with this long between.'));
const times = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: 1_000_000_000,
    title: 'a whole number from 1 on',
    description: 'How often on each host.',
  }),
);
const skip = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: 1_000_000_000,
    title: 'a whole number',
    description: 'How many on each host pass unharmed first.',
  }),
);
const probability = Type.Optional(
  Type.Unsafe<number>({
    type: 'number',
    minimum: 0,
    maximum: 1,
    title: 'a number from 0 to 1',
    description: 'How likely it is each time.',
  }),
);
const lasting = Type.Optional(span('How long it lasts; to the end when absent.'));
const operation = Type.Optional(
  oneOf(OPERATIONS, { description: 'Of which operation; Start when absent.', ...titled(OPERATIONS) }),
);

const always = { hosts, after, every, times, probability };
const met = { ...always, vms, skip };

const kind = <const T extends string, P extends Parameters<typeof Type.Object>[0]>(fault: T, fields: P) =>
  Type.Object({ fault: oneOf([fault]), ...fields }, { additionalProperties: false, title: 'a fault' });

/** Every kind of fault, by its name. */
export const FAULTS = {
  SlowOperation: kind('SlowOperation', {
    ...met,
    operation,
    takes: span('How long it takes.'),
    for: lasting,
  }),
  FailedOperation: kind('FailedOperation', { ...met, operation, for: lasting }),
  LostGuest: kind('LostGuest', { ...met, running: Type.Optional(span('Only guests that have run this long.')) }),
  CrashedGuest: kind('CrashedGuest', { ...met, running: Type.Optional(span('Only guests that have run this long.')) }),
  LeakedSlot: kind('LeakedSlot', { ...met, for: lasting }),
  LostHeartbeat: kind('LostHeartbeat', { ...always, for: lasting }),
  Partition: kind('Partition', { ...always, for: lasting }),
  ClockStep: kind('ClockStep', {
    ...always,
    by: Type.String({
      pattern: STEP_PATTERN,
      title: 'a duration with a sign, such as +90s or -1h',
      description: 'How far the clock jumps.',
    }),
    for: lasting,
  }),
  DiskFull: kind('DiskFull', { ...always, for: lasting }),
  NodeletCrash: kind('NodeletCrash', {
    ...met,
    step: Type.Optional(
      oneOf(['Any', ...STEPS], {
        description: 'At which step of its work; at any moment when absent.',
        ...titled(['Any', ...STEPS]),
      }),
    ),
    for: Type.Optional(span('How long until it is started again; at once when absent.')),
  }),
} as const;

/** One fault, as a file has it or a test writes it down. */
export type Fault = { [K in keyof typeof FAULTS]: Static<(typeof FAULTS)[K]> }[keyof typeof FAULTS];
export type FaultName = Fault['fault'];
export type FaultOf<K extends FaultName> = Extract<Fault, { fault: K }>;

/** Whether `name` is one that patterns mean. */
export function means(patterns: readonly string[] | undefined, name: string): boolean {
  return patterns === undefined || patterns.some((pattern) => matches(pattern, name));
}

export function matches(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return name === pattern;
  const last = rest.pop() ?? '';
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return false;
  let from = first.length;
  const until = name.length - last.length;
  for (const part of rest) {
    const at = name.indexOf(part, from);
    if (at < 0 || at + part.length > until) return false;
    from = at + part.length;
  }
  return true;
}

function titled(words: readonly string[]): Pick<Schema, never> & { readonly title: string } {
  return { title: `one of ${words.join(', ')}` };
}
