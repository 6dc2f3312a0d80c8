import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { ManualClock } from '../../../../resources/ambient/manual-clock.ts';
import { Random } from '../../../fuzz/random.ts';
import { LeaseServer } from './lease-server.ts';
import { SimProcess } from './sim-process.ts';

const ROOT = '/apis/coordination.k8s.io/v1/namespaces/coppice-system/leases';
const DUTIES = ['a', 'b', 'c'];
const STEP_MS = 40;
/** What everybody has come to when nothing is wrong any more. */
const PEACE_MS = 15_000;

/** What goes on in a fleet. `who` is one of its processes. */
type Happening =
  | { readonly what: 'wait'; readonly ms: number }
  | {
      readonly what: 'kill' | 'leave' | 'pause' | 'resume' | 'cut' | 'mute' | 'deafen' | 'refuse' | 'mend' | 'erase';
      readonly who: number;
    }
  | { readonly what: 'delay'; readonly who: number; readonly ms: number }
  | { readonly what: 'outage'; readonly ms: number };

type Deed = Extract<Happening, { readonly who: number }>['what'];
type Doing = Exclude<Deed, 'delay'>;

const who = fc.nat(2);
const happening: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ what: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 6_000 }) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      what: fc.constantFrom('kill', 'leave', 'pause', 'resume', 'cut', 'mute', 'deafen', 'refuse', 'mend', 'erase'),
      who,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ what: fc.constant('delay' as const), who, ms: fc.integer({ min: 1, max: 3_000 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ what: fc.constant('outage' as const), ms: fc.integer({ min: 1, max: 12_000 }) }),
  },
);
const scenario = fc.record({
  happenings: fc.array(happening, { maxLength: 20 }),
  rates: fc.tuple(rate(), rate(), rate()),
  offsets: fc.tuple(offset(), offset(), offset()),
  only: fc.tuple(duties(), duties(), duties()),
  seed: fc.integer(),
});

function rate() {
  return fc.constantFrom(1, 1, 0.98, 1.02);
}

function offset() {
  return fc.constantFrom(0, 0, -3_600_000, 86_400_000);
}

function duties() {
  return fc.oneof({ weight: 3, arbitrary: fc.constant(DUTIES) }, fc.subarray(DUTIES, { minLength: 1 }));
}

type Scenario = typeof scenario extends fc.Arbitrary<infer T> ? T : never;

class Fleet {
  readonly time = new ManualClock();
  readonly server = new LeaseServer();
  readonly processes: SimProcess[];
  readonly #make: (at: number) => SimProcess;
  readonly #left: Promise<void>[] = [];

  constructor({ rates, offsets, only, seed }: Scenario) {
    const chance = new Random(seed);
    const random = () => chance.next() / 2 ** 32;
    this.#make = (at) =>
      new SimProcess({
        server: this.server,
        time: this.time,
        duties: only[at % 3] ?? DUTIES,
        rate: rates[at % 3] ?? 1,
        wallOffsetMs: offsets[at % 3] ?? 0,
        random,
        onStep: () => this.check(),
      });
    this.processes = [];
    for (let at = 0; at < 3; at++) this.processes.push(this.#make(at));
  }

  /** Nobody leads what another leads. */
  check(): void {
    for (const duty of DUTIES) {
      const leaders = this.processes?.filter((process) => process.leads(duty)) ?? [];
      assert.ok(leaders.length <= 1, `${duty} has ${leaders.length} leaders`);
    }
  }

  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= STEP_MS) {
      await this.time.advance(Math.min(STEP_MS, left));
      await setImmediate();
      this.check();
    }
  }

  async happen(happening: Happening): Promise<void> {
    if (happening.what === 'wait') return this.pass(happening.ms);
    if (happening.what === 'outage') {
      for (const process of this.processes) process.isRefused = true;
      await this.pass(happening.ms);
      for (const process of this.processes) process.isRefused = false;
      return;
    }
    const process = this.processes[happening.who];
    if (process === undefined) return;
    if (happening.what === 'delay') process.maxDelayMs = happening.ms;
    else this.#do(happening.what, process, happening.who);
    await this.pass(STEP_MS);
  }

  /** What dies or leaves is started again as another process. */
  #do(what: Doing, process: SimProcess, at: number): void {
    switch (what) {
      case 'kill':
        process.kill();
        this.processes[at] = this.#make(at);
        return;
      case 'leave':
        if (process.isPaused) return;
        this.#left.push(process.election.leave());
        this.processes.push(process);
        this.processes[at] = this.#make(at);
        return;
      case 'pause':
        process.pause();
        return;
      case 'resume':
        process.resume();
        return;
      case 'erase':
        // By somebody's hand, whoever was to lead by it.
        if (process.election.member !== undefined)
          this.server.handle({ method: 'DELETE', path: `${ROOT}/${process.election.member}` });
        return;
      case 'cut':
        process.isCutOff = true;
        return;
      case 'mute':
        process.losesAnswers = true;
        return;
      case 'deafen':
        process.isDeaf = true;
        return;
      case 'refuse':
        process.isRefused = true;
        return;
      case 'mend':
        mend(process);
        return;
      default:
        throw new Error(`nothing is called ${what satisfies never}`);
    }
  }

  /** Everything works again, and time passes. */
  async peace(): Promise<void> {
    for (const process of this.processes) {
      process.resume();
      mend(process);
      process.maxDelayMs = 20;
    }
    await this.pass(PEACE_MS);
    await Promise.all(this.#left);
  }
}

function mend(process: SimProcess): void {
  process.isCutOff = false;
  process.losesAnswers = false;
  process.isDeaf = false;
  process.isRefused = false;
}

describe('the election, whatever happens', function () {
  this.timeout(300_000);

  it('never has two leaders of a duty, and has one of each when peace returns', async () => {
    await fc.assert(
      fc.asyncProperty(scenario, async (given) => {
        const fleet = new Fleet(given);
        for (const each of given.happenings) await fleet.happen(each);
        await fleet.peace();
        for (const duty of DUTIES) {
          const able = given.only.some((duties) => duties.includes(duty));
          const leaders = fleet.processes.filter((process) => process.leads(duty));
          assert.equal(leaders.length, able ? 1 : 0, `${duty} has ${leaders.length} leaders in peace`);
        }
        const writes = fleet.server.log.length;
        await fleet.pass(10_000);
        const others = fleet.server.log.slice(writes).filter((write) => !/^patch controllers-/.test(write));
        assert.deepEqual(others, [], 'a Lease of a duty is written only when it changes hands');
        for (const process of fleet.processes) process.kill();
      }),
      { numRuns: 30 },
    );
  });
});
