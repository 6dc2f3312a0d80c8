import { setImmediate as turn } from 'node:timers/promises';
import { OPERATOR } from '../../apiserver/auth/identity.ts';
import type { Transport } from '../../apiserver/client/transport.ts';
import { UnreachableError } from '../../apiserver/client/unreachable-error.ts';
import { MemoryStore } from '../../apiserver/store/memory/store.ts';
import type { ManualClock } from '../../resources/ambient/manual-clock.ts';
import { systemIds } from '../../resources/ambient/system-ids.ts';
import type { Random } from '../fuzz/random.ts';
import { startTestServer, type TestServer } from '../harness/server.ts';
import type { ChaosWorld, Fault } from './chaos-world.ts';
import { FaultyStore } from './faulty-store.ts';

/** Little history, so that watches meet its end. */
const RING = { events: 25, bytes: 1 << 20 };
const STEP_MS = 4;

/** Two API servers over one store in memory, each with a faulty way to it: no process, no socket, and time that is told to go on. */
export class OneProcessWorld implements ChaosWorld {
  readonly servers: readonly Transport[];
  readonly faults: readonly Fault[];
  readonly #store: MemoryStore;
  readonly #slots: readonly Slot[];

  private constructor(store: MemoryStore, slots: readonly Slot[]) {
    this.#store = store;
    this.#slots = slots;
    this.servers = slots.map((slot) => slot.send);
    this.faults = [...slots.flatMap((slot, i) => faultsOf(slot, `server ${i}`, store)), compaction(store)];
  }

  static async start(clock: ManualClock, random: Random): Promise<OneProcessWorld> {
    const store = await MemoryStore.open({ ids: systemIds });
    const slots = Array.from({ length: 2 }, () => new Slot(store, clock, random.fork()));
    for (const slot of slots) await slot.start();
    return new OneProcessWorld(store, slots);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const slot of this.#slots) await slot.kill();
    await this.#store[Symbol.asyncDispose]();
  }
}

/** The place of a server, which is started and killed there. */
class Slot {
  readonly #shared: MemoryStore;
  readonly #clock: ManualClock;
  readonly #random: Random;
  #store: FaultyStore | undefined;
  #test: TestServer | undefined;
  #killed = new AbortController();

  constructor(shared: MemoryStore, clock: ManualClock, random: Random) {
    this.#shared = shared;
    this.#clock = clock;
    this.#random = random;
  }

  get store(): FaultyStore | undefined {
    return this.#store;
  }

  async start(): Promise<void> {
    const store = new FaultyStore(this.#shared, { clock: this.#clock, random: this.#random });
    this.#store = store;
    this.#test = await startTestServer({ store, clock: this.#clock, ring: RING });
    this.#killed = new AbortController();
  }

  /** Nobody is answered any more, and what it asked of the store goes its way. */
  async kill(): Promise<void> {
    const test = this.#test;
    this.#test = undefined;
    this.#killed.abort(unreached('broken'));
    await this.#store?.[Symbol.asyncDispose]();
    // Nobody waits for a process that was killed.
    if (test !== undefined) void Promise.resolve(test[Symbol.asyncDispose]()).catch(() => {});
  }

  readonly send: Transport = async (request) => {
    if (this.#test === undefined) throw unreached('refused');
    const killed = this.#killed.signal;
    const send = this.#test.server.transportFor(OPERATOR);
    const answer = await unlessKilled(send(request), killed);
    return { ...answer, body: untilKilled(answer.body, killed) };
  };
}

function faultsOf(slot: Slot, target: string, shared: MemoryStore): readonly Fault[] {
  const mood = (name: string, change: (store: FaultyStore, random: Random) => void): Fault => ({
    name,
    target,
    async begin(random) {
      const { store } = slot;
      if (store !== undefined) change(store, random);
      return async () => {
        if (store !== undefined) Object.assign(store, { away: false, slowMs: 10, losesOneIn: 0 });
      };
    },
  });
  const kill = async () => {
    await slot.kill();
    return () => slot.start();
  };
  const forgotten: Fault = {
    name: 'cut off past a compaction',
    target,
    async begin() {
      const { store } = slot;
      if (store !== undefined) store.away = true;
      store?.cutWatches();
      return async () => {
        await shared.compact(shared.revision());
        if (store !== undefined) store.away = false;
      };
    },
  };
  return [
    forgotten,
    { name: 'kill', target, begin: kill },
    mood('cut off', (store) => Object.assign(store, { away: true })),
    mood('slow', (store, random) => Object.assign(store, { slowMs: 50 + random.below(1_500) })),
    mood('lost writes', (store) => Object.assign(store, { losesOneIn: 3 })),
    mood('cut watches', (store) => store.cutWatches()),
  ];
}

function compaction(store: MemoryStore): Fault {
  const begin = async (random: Random) => {
    const kept = store.compactedRevision();
    await store.compact(kept + random.below(store.revision() - kept + 1));
    return async () => {};
  };
  return { name: 'compact', target: 'store', begin };
}

function unlessKilled<T>(answer: Promise<T>, killed: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onKill = () => reject(killed.reason);
  if (killed.aborted) onKill();
  killed.addEventListener('abort', onKill, { once: true });
  answer.catch(() => {});
  return Promise.race([answer, promise]).finally(() => killed.removeEventListener('abort', onKill));
}

async function* untilKilled(body: AsyncIterable<Uint8Array>, killed: AbortSignal): AsyncIterable<Uint8Array> {
  const pieces = body[Symbol.asyncIterator]();
  try {
    for (let next = await unlessKilled(pieces.next(), killed); next.done !== true; ) {
      yield next.value;
      next = await unlessKilled(pieces.next(), killed);
    }
  } finally {
    void pieces.return?.();
  }
}

const unreached = (reason: 'refused' | 'broken') =>
  new UnreachableError(reason, 'a server of the test', `it is ${reason}`, { sent: reason === 'broken' });

/** Lets time go on until the work is done. */
export async function driven<T>(clock: ManualClock, work: Promise<T>): Promise<T> {
  let done = false;
  const settled = work.finally(() => {
    done = true;
  });
  settled.catch(() => {});
  while (!done) {
    for (let i = 0; i < 4; i++) await turn();
    await clock.advance(STEP_MS);
  }
  return settled;
}
