import { ApiClient } from '../apiserver/client/client.ts';
import type { Transport } from '../apiserver/client/transport.ts';
import type { Clock } from '../resources/ambient/clock.ts';
import type { Ids } from '../resources/ambient/ids.ts';
import type { Logger } from '../resources/ambient/log.ts';
import { DUTIES, DUTY_NAMES, type DutyName } from './duties.ts';
import { EventRecorder } from './runtime/events.ts';
import { Informers } from './runtime/informers.ts';
import { type DutyHealth, Manager } from './runtime/manager.ts';
import type { ReflectorHealth } from './runtime/reflector.ts';

/** Who the caches read as: one list and one watch a resource serve all duties of a process. */
export const INFORMERS_IDENTITY = 'system:controller:informers';

/** Who a duty writes as. */
export const dutyIdentity = (name: DutyName): string => `system:controller:${name}`;

export interface ControllersOptions {
  /** A way to the server as somebody, such as `system:controller:placement`. */
  readonly transportFor: (identity: string) => Transport;
  readonly clock: Clock;
  readonly ids: Ids;
  /** A number in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  /** These duties only; all when absent. */
  readonly only?: readonly DutyName[];
}

export interface ControllersHealth {
  readonly duties: Readonly<Record<string, DutyHealth>>;
  /** By resource. */
  readonly caches: Readonly<Record<string, ReflectorHealth>>;
}

/** Running duties. Disposing of it stops them and resolves when all have let go. */
export class Controllers implements AsyncDisposable {
  readonly #informers: Informers;
  readonly #manager: Manager;
  readonly #recorders: EventRecorder[] = [];

  constructor({ transportFor, clock, ids, random, log, only }: ControllersOptions) {
    this.#informers = new Informers({ client: new ApiClient(transportFor(INFORMERS_IDENTITY)), clock, random });
    const instance = `controllers-${ids.suffix(5)}`;
    this.#manager = new Manager({ clock, random, log });
    for (const name of DUTY_NAMES) {
      if (only !== undefined && !only.includes(name)) continue;
      const client = new ApiClient(transportFor(dutyIdentity(name)));
      const dutyLog = log.child({ duty: name });
      const events = new EventRecorder({ client, component: dutyIdentity(name), instance, clock, log: dutyLog });
      this.#recorders.push(events);
      this.#manager.start(DUTIES[name]({ client, informers: this.#informers, events, clock, log: dutyLog }));
    }
    this.#informers.start();
  }

  get health(): ControllersHealth {
    return { duties: this.#manager.health, caches: this.#informers.health };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#manager[Symbol.asyncDispose]();
    for (const recorder of this.#recorders) await recorder[Symbol.asyncDispose]();
    await this.#informers[Symbol.asyncDispose]();
  }
}
