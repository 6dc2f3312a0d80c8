import { ApiClient } from '../apiserver/client/client.ts';
import type { Transport } from '../apiserver/client/transport.ts';
import type { Clock } from '../resources/ambient/clock.ts';
import type { Ids } from '../resources/ambient/ids.ts';
import type { Logger } from '../resources/ambient/log.ts';
import { DUTIES, DUTY_NAMES, type DutyName } from './duties.ts';
import { Election, type ProcessMark } from './runtime/election/election.ts';
import { Informers } from './runtime/informers.ts';
import type { DutyHealth } from './runtime/manager.ts';
import type { ReflectorHealth } from './runtime/reflector.ts';
import { Seat } from './seat.ts';

/** Who the caches read as: one list and one watch a resource serve all duties of a process. */
const INFORMERS_IDENTITY = 'system:controller:informers';

/** Who the election is held as. */
export const ELECTION_IDENTITY = 'system:controller:election';

/** Who a duty writes as. */
const dutyIdentity = (name: DutyName): string => `system:controller:${name}`;

interface ControllersOptions {
  /** A way to the server as somebody, such as `system:controller:placement`. */
  readonly transportFor: (identity: string) => Transport;
  readonly clock: Clock;
  readonly ids: Ids;
  /** A number in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  /** These duties only; all when absent. */
  readonly only?: readonly DutyName[];
  /** Which process this is, for people: host and process id. */
  readonly where?: string;
  /** The same, for others of its machine. */
  readonly process?: ProcessMark;
  /** Whether processes of other servers may lead over the same store. When not, what is led needs no heartbeat. */
  readonly shared?: boolean;
  /** Told when this process takes up a duty or lays one down. */
  readonly onLead?: (led: readonly DutyName[]) => void;
}

export interface ControllersHealth {
  /** The name of this process in the election; undefined while it has no standing. */
  readonly member: string | undefined;
  readonly duties: Readonly<Record<string, DutyHealth>>;
  /** By resource. */
  readonly caches: Readonly<Record<string, ReflectorHealth>>;
}

/** The duties of a process: each is at work while this process leads it. Disposing of it stops them and hands them on at once. */
export class Controllers implements AsyncDisposable {
  readonly #informers: Informers;
  readonly #election: Election;
  readonly #seats: readonly Seat[];
  readonly #onLead: (led: readonly DutyName[]) => void;
  #told = '';

  constructor(options: ControllersOptions) {
    const { transportFor, clock, ids, random, log, only, where, process, shared, onLead } = options;
    const names = DUTY_NAMES.filter((name) => only === undefined || only.includes(name));
    this.#onLead = onLead ?? (() => {});
    this.#informers = new Informers({ client: new ApiClient(transportFor(INFORMERS_IDENTITY)), clock, random });
    this.#election = new Election({
      client: new ApiClient(transportFor(ELECTION_IDENTITY)),
      duties: names,
      where: where ?? 'coppice',
      process,
      lone: shared !== true,
      clock,
      ids,
      random,
      log,
      onChange: () => this.#review(),
    });
    this.#seats = names.map(
      (name) =>
        new Seat({
          name,
          make: DUTIES[name],
          transport: transportFor(dutyIdentity(name)),
          informers: this.#informers,
          term: () => this.#election.term(name),
          instance: () => this.#election.member ?? 'controllers',
          clock,
          random,
          log: log.child({ duty: name }),
        }),
    );
    this.#informers.start();
    this.#election.start();
  }

  get health(): ControllersHealth {
    return {
      member: this.#election.member,
      duties: Object.fromEntries(this.#seats.map((seat) => [seat.name, seat.health])),
      caches: this.#informers.health,
    };
  }

  /** The duties this process leads at this very moment. */
  get led(): readonly DutyName[] {
    return this.#names().filter((name) => this.#election.term(name) !== undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#election.stop();
    for (const seat of this.#seats.toReversed()) await seat[Symbol.asyncDispose]();
    await this.#election.leave();
    await this.#informers[Symbol.asyncDispose]();
  }

  #review(): void {
    for (const seat of this.#seats) seat.review();
    const { led } = this;
    if (led.join() === this.#told) return;
    this.#told = led.join();
    this.#onLead(led);
  }

  #names(): readonly DutyName[] {
    return DUTY_NAMES.filter((name) => this.#seats.some((seat) => seat.name === name));
  }
}
