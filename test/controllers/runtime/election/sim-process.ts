import { ApiClient } from '../../../../apiserver/client/client.ts';
import type { ApiRequest, ApiResponse, Transport } from '../../../../apiserver/client/transport.ts';
import { UnreachableError } from '../../../../apiserver/client/unreachable-error.ts';
import { Election, type ProcessMark } from '../../../../controllers/runtime/election/election.ts';
import type { Clock } from '../../../../resources/ambient/clock.ts';
import { type Ids, NAME_ALPHABET } from '../../../../resources/ambient/ids.ts';
import { silentLogger } from '../../../../resources/ambient/log.ts';
import type { ManualClock } from '../../../../resources/ambient/manual-clock.ts';
import type { CoordinationLease } from '../../../../resources/kinds/coordination-lease.ts';
import type { LeaseServer } from './lease-server.ts';

interface SimProcessOptions {
  readonly server: LeaseServer;
  /** The time that really passes. */
  readonly time: ManualClock;
  readonly duties: readonly string[];
  /** How fast its own clocks go. */
  readonly rate: number;
  /** What its wall clock is off by. */
  readonly wallOffsetMs: number;
  readonly lone?: boolean;
  /** How it and others of its machine know each other. */
  readonly process?: ProcessMark;
  /** A number in [0, 1), for how long things take on the way. */
  readonly random: () => number;
  /** Called after each thing that happens to it. */
  readonly onStep: () => void;
}

/**
 * A process with an election of its own, behind a network that delays, loses and holds back, on clocks that go at their own rate. It can be paused:
 * time goes on and nothing of it runs. It can die: what it sent may still arrive.
 */
export class SimProcess {
  readonly election: Election;
  /** The longest that a request or an answer is under way. */
  maxDelayMs = 20;
  /** Nothing gets through, in either direction. */
  isCutOff = false;
  /** Requests get through, answers do not. */
  losesAnswers = false;
  /** Its watch hangs, and nothing else. */
  isDeaf = false;
  /** Connections are refused at once. */
  isRefused = false;
  readonly #options: SimProcessOptions;
  readonly #held: { readonly isTimer: boolean; readonly run: () => void }[] = [];
  #isPaused = false;
  #isDead = false;

  constructor(options: SimProcessOptions) {
    this.#options = options;
    const clock = this.#clock();
    this.election = new Election({
      client: new ApiClient(this.#transport),
      duties: options.duties,
      where: 'sim',
      process: options.process,
      lone: options.lone === true,
      clock,
      ids: idsFrom(options.random),
      random: options.random,
      log: silentLogger,
      onChange: options.onStep,
    });
    this.election.start();
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Whether it would act as the leader of a duty at this very moment. */
  leads(duty: string): boolean {
    return !this.#isDead && !this.#isPaused && this.election.term(duty) !== undefined;
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    // As a real one does, whose timers are all due before it reads what came meanwhile.
    const held = this.#held.splice(0);
    for (const isTimer of [true, false])
      for (const each of held) if (each.isTimer === isTimer) this.#do(each.run, isTimer);
  }

  kill(): void {
    this.#isDead = true;
    this.#held.length = 0;
  }

  /** Runs something of the process now, or when it is resumed, or never. */
  #do(run: () => void, isTimer = false): void {
    if (this.#isDead) return;
    if (this.#isPaused) {
      this.#held.push({ isTimer, run });
      return;
    }
    run();
    this.#options.onStep();
  }

  #clock(): Clock {
    const { time, rate, wallOffsetMs } = this.#options;
    const after = (ms: number, run: () => void) => time.after(ms / rate, () => this.#do(run, true));
    return {
      now: () => time.now() * rate + wallOffsetMs,
      monotonic: () => time.now() * rate,
      after,
      sleep: (ms, signal) =>
        new Promise((resolve, reject) => {
          if (signal?.aborted) {
            reject(signal.reason);
            return;
          }
          const cancel = after(ms, resolve);
          signal?.addEventListener('abort', () => {
            cancel();
            reject(signal.reason);
          });
        }),
    };
  }

  /** Calls `run` after the time a message takes. */
  #travel(run: () => void): void {
    const { time, random } = this.#options;
    time.after(random() * this.maxDelayMs, run);
  }

  readonly #transport: Transport = (request) => {
    const { promise, resolve, reject } = Promise.withResolvers<ApiResponse>();
    const { signal } = request;
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
    if (this.isRefused) {
      const refused = new UnreachableError('refused', 'https://sim', 'refused', { sent: false });
      this.#travel(() => this.#do(() => reject(refused)));
      return promise;
    }
    if (this.isCutOff) return promise;
    this.#travel(() => {
      // It arrives even when who sent it has given it up, is paused, or is dead.
      const response = request.path.includes('watch=true')
        ? this.#watch(request)
        : this.#options.server.handle(request);
      const isLost = this.losesAnswers || this.isCutOff;
      if (!isLost) this.#travel(() => this.#do(() => resolve(response)));
    });
    return promise;
  };

  #watch({ path, signal }: ApiRequest): ApiResponse {
    const from = Number(new URL(path, 'https://sim').searchParams.get('resourceVersion'));
    return { status: 200, headers: {}, body: this.#events(from, signal) };
  }

  /** Changes after a version. Behind a cut they pile up, and come in order when it is mended. */
  async *#events(from: number, signal: AbortSignal | undefined): AsyncIterable<Uint8Array> {
    const { server, time } = this.#options;
    const arrived: string[] = [];
    let wake = () => {};
    let lastMs = 0;
    const deliver = (line: string) => {
      if (this.isCutOff || this.losesAnswers || this.isDeaf) {
        time.after(50, () => deliver(line));
        return;
      }
      this.#do(() => {
        arrived.push(line);
        wake();
      });
    };
    const send = (type: string, object: CoordinationLease) => {
      const line = `${JSON.stringify({ type, object })}\n`;
      // One connection: what was sent first arrives first.
      lastMs = Math.max(lastMs + 1e-6, time.now() + this.#options.random() * this.maxDelayMs);
      time.after(lastMs - time.now(), () => deliver(line));
    };
    const stop = server.watch(from, ({ type, object }) => send(type, object));
    try {
      while (signal?.aborted !== true) {
        const line = arrived.shift();
        if (line !== undefined) yield new TextEncoder().encode(line);
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
            signal?.addEventListener('abort', () => resolve(), { once: true });
          });
      }
    } finally {
      stop();
    }
  }
}

/** Ids that follow from chance that is handed in, so that a run can be had again. */
function idsFrom(random: () => number): Ids {
  const text = (length: number) =>
    Array.from({ length }, () => NAME_ALPHABET[Math.floor(random() * NAME_ALPHABET.length)]).join('');
  return { uid: () => text(16), suffix: text, secret: text };
}
