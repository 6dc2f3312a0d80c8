import type { Act, Step } from './register-steps.ts';
import type { Violation } from './violation.ts';

/** More than this many possible pasts at once are given up on, aloud. */
const MOST_CONFIGURATIONS = 20_000;
/** How often fewer operations are tried. */
const MOST_TRIES = 60;

/** What stands: nothing, or a value at a version (undefined: at one that nobody was ever told). `last` is the greatest version there has been. */
interface Register {
  readonly value: string | undefined;
  readonly version: number | undefined;
  readonly last: number;
}

/** One possible past: what stands, and which of the operations under way have happened already. */
interface Configuration {
  readonly register: Register;
  readonly done: ReadonlySet<number>;
}

/**
 * Whether some order of the operations on one key explains all their answers, each of them at one moment between its call and its answer
 * (linearizability). It searches as Wing and Gong did and Lowe refined it, just in time: it goes through calls and answers in the order they
 * came, keeps every past that is still possible, and makes a write happen only when an answer cannot be explained without it. What only reads
 * happens as soon as it can: that takes nothing from anybody. An operation without an answer may happen at any time after its call, or never.
 *
 * Versions make the search almost no search. A read names the version it saw and each version has one write, so of the writes under way all
 * but one order is soon ruled out, and a write whose version is less than one that stood can never happen any more. Of two pasts with the same
 * state and the same answered operations ahead of them, the one that used fewer of those without an answer is enough. With c clients and u
 * writes whose outcome nobody ever learned that is about n · c · (u + 1) steps; a key where it grows beyond 20,000 pasts is given up
 * on as undecided.
 */
export function checkRegister(key: string, steps: readonly Step[]): Violation | undefined {
  const failed = search(steps);
  if (failed === undefined) return undefined;
  if (failed === 'undecided') {
    return {
      rule: 'undecided',
      key,
      message: `${key}: more than ${MOST_CONFIGURATIONS} possible orders`,
      operations: [],
    };
  }
  const shown = fewest(steps, failed);
  const message = `${key}: no order of the operations before ${failed.id} was answered explains what it was told`;
  return { rule: 'not linearizable', key, message, operations: shown.map(({ id }) => id) };
}

/** The step whose answer no past explains. */
function search(steps: readonly Step[]): Step | 'undecided' | undefined {
  const moments = steps
    .flatMap((step) => [
      { at: step.called, step, answer: false },
      ...(Number.isFinite(step.returned) ? [{ at: step.returned, step, answer: true }] : []),
    ])
    .sort((a, b) => a.at - b.at || Number(a.answer) - Number(b.answer));
  const open = new Map<number, Step>();
  let pasts: readonly Configuration[] = [
    { register: { value: undefined, version: undefined, last: 0 }, done: new Set() },
  ];
  for (const { step, answer } of moments) {
    if (answer) {
      const explained = explain(pasts, step, open);
      if (explained === 'undecided') return explained;
      if (explained.length === 0) return step;
      open.delete(step.id);
      pasts = explained;
    } else {
      open.set(step.id, step);
      if (onlyReads(step.act)) pasts = pasts.map((past) => withReads(past, [step]));
    }
  }
  return undefined;
}

/** Every past in which the step has happened: those it has, and those that come of the writes under way. Those that use fewest come first. */
function explain(
  pasts: readonly Configuration[],
  step: Step,
  open: ReadonlyMap<number, Step>,
): readonly Configuration[] | 'undecided' {
  const explained = new Pasts(open);
  const tried = new Pasts(open);
  const waiting = [...pasts];
  for (const past of waiting) {
    if (past.done.has(step.id)) {
      explained.add({ register: past.register, done: without(past.done, step.id) });
      continue;
    }
    if (!tried.add(past)) continue;
    if (tried.size + explained.size > MOST_CONFIGURATIONS) return 'undecided';
    for (const write of candidates(past, open)) {
      const register = after(past.register, write.act);
      if (register === undefined) continue;
      waiting.push(withReads({ register, done: new Set(past.done).add(write.id) }, open.values()));
    }
  }
  return explained.all();
}

/** The writes under way that have not happened yet. Of those that are alike, only the first is tried. */
function* candidates({ done }: Configuration, open: ReadonlyMap<number, Step>): Iterable<Step> {
  const tried = new Set<string>();
  for (const step of open.values()) {
    if (done.has(step.id) || onlyReads(step.act)) continue;
    const kind = kindOf(step);
    if (kind !== undefined && tried.has(kind)) continue;
    if (kind !== undefined) tried.add(kind);
    yield step;
  }
}

/** What makes one write as good as another: nobody answered it, nobody saw what it wrote, and it minds no version. */
function kindOf({ returned, act }: Step): string | undefined {
  if (Number.isFinite(returned) || act.type === 'found' || act.type === 'claim' || act.over !== undefined)
    return undefined;
  if (act.type === 'remove') return 'remove';
  return act.version === undefined ? `put ${act.made}` : undefined;
}

const onlyReads = ({ type }: Act) => type === 'found' || type === 'claim';

function withReads(past: Configuration, steps: Iterable<Step>): Configuration {
  let done: Set<number> | undefined;
  for (const { id, act } of steps) {
    if (!onlyReads(act) || past.done.has(id) || after(past.register, act) === undefined) continue;
    done ??= new Set(past.done);
    done.add(id);
  }
  return done === undefined ? past : { register: past.register, done };
}

/** What stands once an act has happened; undefined: it cannot. */
function after(register: Register, act: Act): Register | undefined {
  const { value, version, last } = register;
  switch (act.type) {
    case 'found':
      return act.found?.value === value && act.found?.version === version ? register : undefined;
    case 'claim': {
      const holds = {
        present: value !== undefined,
        absent: value === undefined,
        other: value !== undefined && version !== act.over,
      };
      return holds[act.claim] ? register : undefined;
    }
    case 'remove':
      if (value === undefined || (act.over !== undefined && act.over !== version)) return undefined;
      return { value: undefined, version: undefined, last };
    case 'put':
      if (act.made ? value !== undefined : value === undefined) return undefined;
      if (act.over !== undefined && act.over !== version) return undefined;
      if (act.version !== undefined && act.version <= last) return undefined;
      // What nobody ever saw is not told apart.
      return act.version === undefined
        ? { value: '', version: undefined, last }
        : { value: act.value, version: act.version, last: act.version };
  }
}

/** Possible pasts, without those that are no better than another. */
class Pasts {
  readonly #open: ReadonlyMap<number, Step>;
  readonly #known = new Map<string, { readonly past: Configuration; readonly spent: ReadonlySet<number> }[]>();
  size = 0;

  constructor(open: ReadonlyMap<number, Step>) {
    this.#open = open;
  }

  /** False when one as good is known. */
  add(past: Configuration): boolean {
    const answered: number[] = [];
    const spent = new Set<number>();
    for (const id of past.done) {
      if (Number.isFinite(this.#open.get(id)?.returned)) answered.push(id);
      else spent.add(id);
    }
    const { value, version, last } = past.register;
    const name = `${value}@${version}/${last} ${answered.sort((a, b) => a - b).join()}`;
    const known = this.#known.get(name) ?? [];
    if (known.some((other) => isWithin(other.spent, spent))) return false;
    const kept = known.filter((other) => !isWithin(spent, other.spent));
    this.size += kept.length + 1 - known.length;
    this.#known.set(name, [...kept, { past, spent }]);
    return true;
  }

  all(): readonly Configuration[] {
    return [...this.#known.values()].flat().map(({ past }) => past);
  }
}

const isWithin = (some: ReadonlySet<number>, all: ReadonlySet<number>) =>
  some.size <= all.size && [...some].every((id) => all.has(id));

function without(done: ReadonlySet<number>, id: number): ReadonlySet<number> {
  const rest = new Set(done);
  rest.delete(id);
  return rest;
}

/** The steps up to the one that failed, without most reads that it fails without too: halves, quarters and so on are left out. Writes stay: others may rest on them. */
function fewest(steps: readonly Step[], failed: Step): readonly Step[] {
  let shown = steps.filter(({ called }) => called < failed.returned);
  let reads = shown.filter(({ id, act }) => id !== failed.id && onlyReads(act));
  for (let size = reads.length, tries = 0; size >= 1 && tries < MOST_TRIES; size = Math.floor(size / 2)) {
    for (let at = reads.length - size; at > -size && tries < MOST_TRIES; at -= size, tries++) {
      const part = new Set(reads.slice(Math.max(0, at), at + size));
      const fewer = shown.filter((step) => !part.has(step));
      const still = search(fewer);
      if (still === undefined || still === 'undecided') continue;
      shown = fewer;
      reads = reads.filter((step) => !part.has(step));
    }
  }
  return shown;
}
