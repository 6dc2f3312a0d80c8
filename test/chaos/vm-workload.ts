import { ApiClient, type ResourceClient } from '../../apiserver/client/client.ts';
import { openFailover } from '../../apiserver/client/failover-transport.ts';
import type { Connection } from '../../apiserver/client/https-transport.ts';
import { ServerChoice } from '../../apiserver/client/server-choice.ts';
import { guestIDOf } from '../../nodelet/plan.ts';
import { systemClock as clock } from '../../resources/ambient/system-clock.ts';
import { Image } from '../../resources/kinds/image.ts';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { VM } from '../../resources/kinds/vm.ts';
import type { Random } from '../fuzz/random.ts';
import type { Work } from './chaos-world.ts';
import { Handovers } from './handovers.ts';
import type { SimFleet } from './sim-fleet.ts';
import type { Rule, Violation } from './violation.ts';
import { VmBindings } from './vm-bindings.ts';

interface VmWorkloadOptions {
  readonly servers: readonly string[];
  readonly connectionTo: (server: string) => Connection;
  readonly fleet: SimFleet;
}

const NAMESPACE = 'red';
const MOST_VMS = 12;
const LONGEST_REST_MS = 1_500;
const LOOK_MS = 100;

/** VMs come and go on simulated hosts. However controllers and servers die meanwhile, each is bound once and its guest is nowhere twice; and once all is quiet, each runs. */
export class VmWorkload implements Work, AsyncDisposable {
  readonly #fleet: SimFleet;
  readonly #random: Random;
  readonly #client: ApiClient;
  readonly #transport: AsyncDisposable;
  readonly #vms: ResourceClient<VM>;
  readonly #bindings = new VmBindings();
  readonly #handovers = new Handovers();
  /** What should be there at the end. Of what was not answered nobody knows. */
  readonly #wanted = new Set<string>();
  readonly #violations: Violation[] = [];
  #made = 0;

  constructor({ servers, connectionTo, fleet }: VmWorkloadOptions, random: Random) {
    const transport = openFailover(
      { servers: new ServerChoice(servers, Math.random), clock, random: Math.random },
      connectionTo,
    );
    this.#fleet = fleet;
    this.#random = random;
    this.#transport = transport;
    this.#client = new ApiClient(transport.send);
    this.#vms = this.#client.resource<VM>(VM, NAMESPACE);
  }

  /** Makes what VMs need: a tenant, and an image that hosts have. */
  async furnish(): Promise<void> {
    const apiVersion = 'coppice.dev/v1';
    await this.#client
      .resource<Tenant>(Tenant)
      .create({ apiVersion, kind: 'Tenant', metadata: { name: NAMESPACE }, spec: {} });
    const spec: Image['spec'] = { guestOS: 'linux', source: { path: 'tiny' } };
    await this.#client.resource<Image>(Image).create({ apiVersion, kind: 'Image', metadata: { name: 'tiny' }, spec });
  }

  async run(signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const looking = this.#look(over.signal);
    const following = this.#bindings.follow(this.#vms, over.signal);
    const counting = this.#handovers.follow(this.#client, over.signal);
    try {
      while (!signal.aborted) {
        await this.#step();
        await clock.sleep(this.#random.below(LONGEST_REST_MS), signal).catch(() => {});
      }
    } finally {
      over.abort();
      await Promise.all([looking, following, counting]);
    }
  }

  /** Resolves when every VM runs where it is bound, or says what does not by the time the signal aborts. */
  async settle(signal: AbortSignal): Promise<readonly Violation[]> {
    let wrong: readonly string[] = [];
    do {
      wrong = await this.#wrong().catch((error: unknown) => [`VMs cannot be listed: ${error}`]);
      if (wrong.length > 0) await clock.sleep(LOOK_MS, signal).catch(() => {});
    } while (wrong.length > 0 && !signal.aborted);
    const late = wrong.map((message) => violation('not as wished', message));
    return [
      ...this.#violations,
      ...this.#bindings.faults().map((message) => violation('bound twice', message)),
      ...late,
    ];
  }

  lines(): readonly string[] {
    return [
      `${this.#made} VMs, ${this.#wanted.size} of them left, ${this.#bindings.seen} bindings, ${this.#handovers.count} duties handed over`,
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#transport[Symbol.asyncDispose]();
  }

  async #step(): Promise<void> {
    const some = [...this.#wanted];
    const remove = some.length > 0 && (some.length >= MOST_VMS || this.#random.oneIn(3));
    const name = remove ? this.#random.pick(some) : `vm-${this.#made++}`;
    try {
      if (remove) {
        this.#wanted.delete(name);
        await this.#vms.delete(name);
      } else {
        await this.#vms.create({
          apiVersion: 'coppice.dev/v1',
          kind: 'VM',
          metadata: { name },
          spec: { image: 'tiny', size: 'small' } as VM['spec'],
        });
        this.#wanted.add(name);
      }
    } catch {
      // Refused, or nobody knows: what is there counts at the end, whoever made it.
    }
  }

  /** Looks at the hosts themselves, all the time: a guest that is on two of them would run twice. */
  async #look(signal: AbortSignal): Promise<void> {
    const told = new Set<string>();
    while (!signal.aborted) {
      for (const guests of this.#fleet.guests.values()) {
        for (const id of guests.keys()) {
          const hosts = this.#fleet.hostsOf(id);
          if (hosts.length < 2 || told.has(id)) continue;
          told.add(id);
          this.#violations.push(violation('bound twice', `guest ${id} is on ${hosts.join(' and ')}`));
        }
      }
      await clock.sleep(LOOK_MS, signal).catch(() => {});
    }
  }

  /** What is not as it should be in the end. */
  async #wrong(): Promise<readonly string[]> {
    const { items } = await this.#vms.list();
    const there = new Set(items.map(({ metadata }) => metadata.name));
    const guests = [...this.#fleet.guests.values()].flatMap((each) => [...each.keys()]);
    const ids = new Set(items.map(guestIDOf));
    return [
      ...[...this.#wanted].filter((name) => !there.has(name)).map((name) => `${name} was made and is gone`),
      ...items
        .filter((vm) => !this.#runs(vm))
        .map(({ metadata, spec, status }) => `${metadata.name} on ${spec.hostName} is ${status?.phase}`),
      ...guests.filter((id) => !ids.has(id)).map((id) => `guest ${id} has no VM`),
    ];
  }

  #runs(vm: VM): boolean {
    const { hostName } = vm.spec;
    return (
      vm.status?.phase === 'Running' &&
      hostName !== undefined &&
      this.#fleet.guests.get(hostName)?.has(guestIDOf(vm)) === true
    );
  }
}

const violation = (rule: Rule, message: string): Violation => ({ rule, message, operations: [] });
