import { ApiClient } from '../apiserver/client/client.ts';
import type { Transport } from '../apiserver/client/transport.ts';
import type { Clock } from '../resources/ambient/clock.ts';
import type { Logger } from '../resources/ambient/log.ts';
import type { Term } from '../resources/meta/term-header.ts';
import { BorrowedCaches } from './runtime/borrowed-caches.ts';
import type { Duty, MakeDuty } from './runtime/duty.ts';
import { EventRecorder } from './runtime/events.ts';
import { ifLeading, NotLeadingError } from './runtime/if-leading.ts';
import type { Informers } from './runtime/informers.ts';
import { type DutyHealth, Manager } from './runtime/manager.ts';

interface SeatOptions {
  readonly name: string;
  readonly make: MakeDuty;
  /** To the server as the duty. */
  readonly transport: Transport;
  readonly informers: Informers;
  /** The term in which this process leads the duty, asked anew each time; undefined: it does not. */
  readonly term: () => Term | undefined;
  /** Which process events are recorded by. */
  readonly instance: () => string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
}

/** One duty while this process leads it, made anew each time: what it thought before somebody else led is not true any more. */
class Office implements AsyncDisposable {
  readonly #ending = new AbortController();
  readonly #caches: BorrowedCaches;
  readonly #events: EventRecorder;
  readonly #manager: Manager;

  /** `lapsed` is called when the duty was about to act out of term. */
  constructor(options: SeatOptions, lapsed: () => void) {
    const { name, make, transport, informers, instance, clock, random, log } = options;
    const { signal } = this.#ending;
    const term = () => {
      const now = options.term();
      if (now === undefined) lapsed();
      return now;
    };
    const client = new ApiClient(ifLeading(transport, { duty: name, term, signal }));
    this.#caches = new BorrowedCaches(informers);
    const component = `system:controller:${name}`;
    this.#events = new EventRecorder({ client, component, instance: instance(), clock, log });
    this.#manager = new Manager({ clock, random, log });
    const duty = make({ client, informers: this.#caches, events: this.#events, clock, log });
    this.#manager.start(whileLeading(duty, term));
  }

  get health(): DutyHealth | undefined {
    return Object.values(this.#manager.health)[0];
  }

  /** Aborts what it does, in this very step; resolves when it has let go. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort(new Error('this process does not lead the duty any more'));
    const stopped = [this.#manager[Symbol.asyncDispose](), this.#events[Symbol.asyncDispose]()];
    await Promise.all(stopped);
    this.#caches[Symbol.dispose]();
  }
}

/** A duty's place in a process: its caches are kept warm, and it is at work while this process leads it. */
export class Seat implements AsyncDisposable {
  readonly name: string;
  readonly #options: SeatOptions;
  #office: Office | undefined;
  #leaving: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(options: SeatOptions) {
    this.name = options.name;
    this.#options = options;
    this.#warm();
  }

  get health(): DutyHealth {
    return this.#office?.health ?? { state: this.#stopped ? 'stopped' : 'standing by', waiting: 0 };
  }

  /** Takes up the duty or lays it down, as the term says. */
  review(): void {
    const leads = !this.#stopped && this.#options.term() !== undefined;
    if (!leads && this.#office !== undefined) this.#lay();
    if (leads && this.#office === undefined) this.#leaving = this.#leaving.then(() => this.#take());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    if (this.#office !== undefined) this.#lay();
    await this.#leaving;
  }

  /** After whoever had the office before has let go of it, if it is still to be taken. */
  #take(): void {
    if (this.#office !== undefined || this.#stopped || this.#options.term() === undefined) return;
    this.#options.log.info('leads');
    this.#office = new Office(this.#options, () => this.review());
  }

  #lay(): void {
    const office = this.#office;
    if (office === undefined) return;
    this.#office = undefined;
    this.#options.log.info('leads no longer');
    const left = office[Symbol.asyncDispose]();
    this.#leaving = this.#leaving.then(() => left);
  }

  /** Makes the duty once, so that its caches are filled before it leads. */
  #warm(): void {
    const { make, name, transport, informers, instance, clock, log } = this.#options;
    using caches = new BorrowedCaches(informers);
    const client = new ApiClient(transport);
    const events = new EventRecorder({ client, component: name, instance: instance(), clock, log });
    make({ client, informers: caches, events, clock, log });
  }
}

/** The duty, which looks at nothing unless it is certain that this process leads it. */
function whileLeading(duty: Duty, term: () => Term | undefined): Duty {
  return {
    ...duty,
    async reconcile(key, signal) {
      if (term() === undefined) throw new NotLeadingError(duty.name);
      return duty.reconcile(key, signal);
    },
  };
}
