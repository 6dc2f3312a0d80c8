import { setImmediate as turn } from 'node:timers/promises';
import { type CheckFigures, FleetCheck } from '../../apiserver/client/cut/fleet-check.ts';
import { MemoryStore } from '../../apiserver/store/memory/store.ts';
import type { DutyName } from '../../controllers/duties.ts';
import { systemIds } from '../../resources/ambient/system-ids.ts';
import { INVARIANTS } from '../../resources/invariants/all-invariants.ts';
import type { Violation } from '../../resources/invariants/fleet-checker.ts';
import { Random } from '../fuzz/random.ts';
import { FleetWorld, SettableClock } from '../harness/fleet-world.ts';
import { FaultyStore } from './faulty-store.ts';
import { FleetJournal } from './fleet-journal.ts';
import { FleetTally } from './fleet-tally.ts';
import { FleetWorkload } from './fleet-workload.ts';

export interface FleetChaosReport {
  readonly figures: CheckFigures;
  readonly violations: readonly Violation[];
  /** How often each thing happened. */
  readonly seen: ReadonlyMap<string, number>;
  readonly lines: readonly string[];
  /** What became of the objects that violations name. */
  readonly journal: readonly string[];
}

/** All that work on what is leased, and none that judges hosts by heartbeats, which nobody sends here. */
const DUTIES: readonly DutyName[] = [
  'tenant',
  'image',
  'lease',
  'leaseset',
  'scrub',
  'volume',
  'placement',
  'pool',
  'drain',
  'vm-lifecycle',
  'garbage',
];
const STEP_MS = 25;
const HOUR_MS = 3_600_000;
/** Until nobody is in the midst of writing what came of the last thing: what is true for a moment would be so for an hour. */
const SETTLE_MS = 10_000;
const MACS = [
  ['mac-1', 8, 18],
  ['mac-2', 12, 34],
  ['mac-3', 16, 66],
] as const;

/**
 * A fleet in one process, over a store that is slow, away and loses writes, on a clock that goes on by seconds and by days: tenants do what the seed says, while
 * nodelets and controllers end and begin again, guests vanish, the clock is set, and the check of invariants watches all of it.
 */
export async function runFleetChaos(
  seed: number,
  steps: number,
  sabotage: (world: FleetWorld) => Promise<void> = async () => {},
): Promise<FleetChaosReport> {
  const clock = new SettableClock(Date.parse('2026-03-01T10:00:00Z'));
  const chaos = new FleetChaos(clock, new Random(seed));
  return chaos.driven(chaos.run(steps, sabotage));
}

class FleetChaos {
  readonly #clock: SettableClock;
  readonly #random: Random;
  readonly #stopped = new Set<string>();
  readonly #faults = new Map<string, number>();
  #duties = true;
  #dutiesSinceMs = Number.NEGATIVE_INFINITY;
  #leapMs = 0;
  #setByMs = 0;

  constructor(clock: SettableClock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  async run(steps: number, sabotage: (world: FleetWorld) => Promise<void>): Promise<FleetChaosReport> {
    const [clock, random] = [this.#clock, this.#random];
    await using inner = await MemoryStore.open({ ids: systemIds });
    await using store = new FaultyStore(inner, { clock, random: random.fork() });
    await using world = await FleetWorld.start({ clock, store, duties: false, checked: false });
    world.startControllers(...DUTIES);
    for (const [name, vcpus, memoryGiB] of MACS) await world.mac(name, { vcpus, memoryGiB });
    const { client } = world.fleet.test;
    const stop = new AbortController();
    const violations: Violation[] = [];
    const [tally, journal] = [new FleetTally(), new FleetJournal()];
    const listener = {
      violation: (violation: Violation) => this.#isExcused(violation) || violations.push(violation),
    };
    const check = new FleetCheck({
      client,
      clock,
      random: () => 0.5,
      listener,
      invariants: [...INVARIANTS, tally, journal],
    });
    const checking = check.run(stop.signal);
    const workload = new FleetWorkload({ client, random: random.fork(), clock });
    await workload.furnish(stop.signal);
    // Where it cannot begin it gives up, so nothing goes wrong before it has.
    await check.caughtUp(stop.signal);
    for (let i = 0; i < steps && violations.length === 0; i++) await this.#step(workload, world, store, stop.signal);
    await sabotage(world);
    await this.#calm(world, store);
    await check.caughtUp(stop.signal);
    stop.abort();
    await checking;
    const faults = [...this.#faults].map(([name, count]) => `${name} ${count}`);
    const lines = [...workload.lines(), tally.line(), `faults: ${faults.join(', ') || 'none'}`];
    return { figures: check.figures, violations, seen: tally.counts, lines, journal: journal.about(violations) };
  }

  /** Lets time go on until the work is done, in steps that are short beside what anybody waits for; and by hours when it says so. */
  async driven<T>(work: Promise<T>): Promise<T> {
    let done = false;
    const settled = work.finally(() => {
      done = true;
    });
    settled.catch(() => {});
    while (!done) {
      for (let i = 0; i < 6; i++) await turn();
      await this.#clock.advance(STEP_MS);
      // Between steps, for a step that is under way would take it back.
      if (this.#leapMs > 0) await this.#clock.leap(this.#leapMs);
      this.#leapMs = 0;
    }
    return settled;
  }

  async #step(workload: FleetWorkload, world: FleetWorld, store: FaultyStore, signal: AbortSignal): Promise<void> {
    const { random } = this;
    if (random.oneIn(6)) await this.#suffer(world, store);
    await workload.step(signal);
    const choice = random.below(12);
    if (choice === 0) await this.#passes(1 + random.below(30));
    else if (choice < 8) await this.#clock.sleep(random.below(4_000));
  }

  /** Members give way to a quota by the hand of controllers: not while there are none, nor before those that came back have had their minute. */
  #isExcused({ message }: Violation): boolean {
    if (!message.includes('these do not give way')) return false;
    return !this.#duties || this.#clock.monotonic() - this.#dutiesSinceMs < HOUR_MS;
  }

  get random(): Random {
    return this.#random;
  }

  /** Hours go by, in steps that let everybody do what falls due: a minute is as long as an hour to those who wait. */
  async #passes(hours: number): Promise<void> {
    await this.#clock.sleep(SETTLE_MS);
    for (let i = 0; i < hours; i++) {
      this.#leapMs = HOUR_MS;
      await this.#clock.sleep(2_000);
    }
  }

  async #suffer(world: FleetWorld, store: FaultyStore): Promise<void> {
    const { random } = this;
    const faults: Readonly<Record<string, () => unknown>> = {
      'nodelet stopped': async () => {
        const [name] = random.pick(MACS);
        if (this.#stopped.has(name)) return;
        this.#stopped.add(name);
        await world.stopNodelet(name);
      },
      'nodelet started': () => this.#startNodelet(world, random.pick([...this.#stopped, ''])),
      'controllers killed': async () => {
        this.#duties = false;
        await world.stopControllers();
      },
      'controllers started': () => this.#startDuties(world),
      'store away': () => this.#away(store),
      'store slow': () => Object.assign(store, { slowMs: 50 + random.below(1_000) }),
      'writes lost': () => Object.assign(store, { losesOneIn: 4 }),
      'store well': () => Object.assign(store, { slowMs: 10, losesOneIn: 0 }),
      'watches cut': () => store.cutWatches(),
      'guest lost': () => this.#loseGuest(world, random.pick([...this.#stopped, ''])),
      'clock set': () => this.#setClock(this.#setByMs === 0 ? (random.below(9) - 4) * HOUR_MS : 0),
    };
    const name = random.pick(Object.keys(faults));
    this.#faults.set(name, (this.#faults.get(name) ?? 0) + 1);
    await faults[name]?.();
  }

  /** Of a nodelet that is stopped: it finds so when it begins. */
  #loseGuest(world: FleetWorld, name: string): void {
    if (name === '') return;
    const guests = world.guestsOn(name) as Map<string, unknown>;
    const [first] = guests.keys();
    if (first !== undefined) guests.delete(first);
  }

  #setClock(byMs: number): void {
    this.#clock.set(byMs - this.#setByMs);
    this.#setByMs = byMs;
  }

  async #away(store: FaultyStore): Promise<void> {
    store.away = true;
    await this.#clock.sleep(500 + this.random.below(8_000));
    store.away = false;
  }

  #startNodelet(world: FleetWorld, name: string): void {
    if (this.#stopped.delete(name)) world.startNodelet(name);
  }

  #startDuties(world: FleetWorld): void {
    if (this.#duties) return;
    world.startControllers(...DUTIES);
    this.#duties = true;
    this.#dutiesSinceMs = this.#clock.monotonic();
  }

  /** All faults end, and what is under way comes to its end. */
  async #calm(world: FleetWorld, store: FaultyStore): Promise<void> {
    Object.assign(store, { away: false, slowMs: 10, losesOneIn: 0 });
    this.#setClock(0);
    for (const name of [...this.#stopped]) this.#startNodelet(world, name);
    this.#startDuties(world);
    await this.#passes(3);
    await this.#clock.sleep(70_000);
  }
}
