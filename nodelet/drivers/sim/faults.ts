/**
 * What a user can make a simulated host do wrong (`--faults`). Items are separated by commas, and may start with `HOST:` to mean one host only:
 *
 *     start=5s             each start takes 5 s (any operation below)
 *     fail-next=start:2    the next 2 starts fail; without a number, 1
 *     lose=GUEST           the guest vanishes, once; GUEST is an id or namespace/name; lose=GUEST@30s: 30 s after its start
 *     crash=GUEST          its process dies, once; crash=GUEST@30s likewise
 *     leak-slot            1 macOS slot is taken by no guest; leak-slot=2: 2; leak-slot=0 gives them back
 *     clock=+10s           the host's clock is 10 s ahead; clock=-10s: behind
 *
 * Durations are written as in Go: 1h, 2m30s, 250ms.
 */
export type SimFault = SimFaultKind & { readonly host?: string };

type SimFaultKind =
  | { readonly kind: 'slow'; readonly operation: SimOperation; readonly ms: number }
  | { readonly kind: 'fail-next'; readonly operation: SimOperation; readonly times: number }
  | { readonly kind: 'lose' | 'crash'; readonly guest: string; readonly afterMs: number }
  | { readonly kind: 'leak-slot'; readonly slots: number }
  | { readonly kind: 'clock'; readonly ms: number };

const OPERATIONS = ['create', 'start', 'stop', 'pause', 'resume', 'remove', 'exec', 'list'] as const;
export type SimOperation = (typeof OPERATIONS)[number];

const NAMES = [...OPERATIONS, 'fail-next', 'lose', 'crash', 'leak-slot', 'clock'];

/** Reads the text of `--faults`. Throws a `RangeError` naming the item and what was expected. */
export function parseFaults(text: string): readonly SimFault[] {
  if (text.trim() === '') return [];
  return text.split(',').map((item) => parseItem(item.trim()));
}

/** Those of `faults` that mean the host. */
export function faultsOf(faults: readonly SimFault[], host: string): readonly SimFault[] {
  return faults.filter((fault) => fault.host === undefined || fault.host === host);
}

function parseItem(item: string): SimFault {
  const match = /^(?:([a-z0-9.-]+):)?([a-z-]+)(?:=(.*))?$/.exec(item);
  if (match === null) throw bad(item, `expected [HOST:]NAME=VALUE, NAME one of ${NAMES.join(', ')}`);
  const [, host, name = '', value] = match;
  const fault = parseKind(item, name, value);
  return host === undefined ? fault : { ...fault, host };
}

function parseKind(item: string, name: string, value: string | undefined): SimFaultKind {
  const operation = OPERATIONS.find((o) => o === name);
  if (operation !== undefined) return { kind: 'slow', operation, ms: duration(item, value) };
  switch (name) {
    case 'fail-next':
      return failNext(item, value);
    case 'lose':
    case 'crash':
      return { kind: name, ...guestAt(item, value) };
    case 'leak-slot':
      return { kind: name, slots: value === undefined ? 1 : count(item, value, 2) };
    case 'clock':
      return { kind: name, ms: step(item, value) };
    default:
      throw bad(item, `there is no fault "${name}"; there are ${NAMES.join(', ')}`);
  }
}

function failNext(item: string, value: string | undefined): SimFaultKind {
  const [name, times = '1', ...rest] = value?.split(':') ?? [];
  const operation = OPERATIONS.find((o) => o === name);
  if (operation === undefined || rest.length > 0) {
    throw bad(item, `expected fail-next=OPERATION[:TIMES], OPERATION one of ${OPERATIONS.join(', ')}`);
  }
  return { kind: 'fail-next', operation, times: count(item, times, 1_000_000) };
}

function guestAt(item: string, value: string | undefined): { guest: string; afterMs: number } {
  const [guest = '', after, ...rest] = value?.split('@') ?? [];
  if (guest === '' || rest.length > 0) throw bad(item, 'expected a guest id or namespace/name, and maybe @DURATION');
  return { guest, afterMs: after === undefined ? 0 : duration(item, after) };
}

function step(item: string, value: string | undefined): number {
  const sign = value?.[0];
  if (value === undefined || (sign !== '+' && sign !== '-'))
    throw bad(item, 'expected a duration with its sign, such as +10s');
  const ms = duration(item, value.slice(1));
  return sign === '-' ? -ms : ms;
}

function count(item: string, text: string, most: number): number {
  if (!/^\d{1,7}$/.test(text) || Number(text) > most)
    throw bad(item, `"${text}" is not a whole number from 0 to ${most}`);
  return Number(text);
}

function duration(item: string, text: string | undefined): number {
  const match = /^(?=\d)(?:(\d{1,4})h)?(?:(\d{1,6})m)?(?:(\d{1,7})s)?(?:(\d{1,9})ms)?$/.exec(text ?? '');
  if (match === null) throw bad(item, `"${text ?? ''}" is not a duration such as 5s, 250ms or 1m30s`);
  const [h, m, s, ms] = match.slice(1).map((part) => Number(part ?? 0));
  return (((h ?? 0) * 60 + (m ?? 0)) * 60 + (s ?? 0)) * 1000 + (ms ?? 0);
}

function bad(item: string, why: string): RangeError {
  return new RangeError(`faults: "${item}": ${why}`);
}
