import { Cache } from '../controllers/runtime/cache.ts';
import { Reflector } from '../controllers/runtime/reflector.ts';
import { Image } from '../resources/kinds/image.ts';
import { Tenant } from '../resources/kinds/tenant.ts';
import { VM } from '../resources/kinds/vm.ts';
import { isTrue } from '../resources/meta/condition.ts';
import { BenchClient } from './bench-client.ts';
import type { FleetProcesses } from './fleet-processes.ts';
import type { BenchWorld } from './goal.ts';

const TENANTS = 10;
const CLIENTS = 32;
const IMAGE = 'tiny-linux';
const POLL_MS = 200;
const VMS_PATH = (namespace: string) => `/apis/coppice.dev/v1/namespaces/${namespace}/vms`;

/** VMs of several tenants on a fleet, and what a watch of all of them tells. */
export class FleetVMs {
  readonly #world: BenchWorld;
  readonly #fleet: FleetProcesses;
  readonly #requests: BenchClient;
  readonly #cache = new Cache<VM>();
  readonly #waiting = new Set<() => void>();
  readonly #ready = new Set<string>();
  #made = 0;

  private constructor(world: BenchWorld, fleet: FleetProcesses, requests: BenchClient) {
    this.#world = world;
    this.#fleet = fleet;
    this.#requests = requests;
  }

  /** Makes the tenants and the image, waits until every host has said that it holds it, and begins to watch. */
  static async open(
    world: BenchWorld,
    fleet: FleetProcesses,
    hosts: number,
    held: AsyncDisposableStack,
  ): Promise<FleetVMs> {
    const { client } = fleet;
    const apiVersion = 'coppice.dev/v1';
    const defaults = { vcpus: 1, memory: '128Mi' };
    const spec = { guestOS: 'linux', source: { path: IMAGE }, defaults } as Image['spec'];
    await client.resource<Image>(Image).create({ apiVersion, kind: 'Image', metadata: { name: IMAGE }, spec });
    for (let i = 0; i < TENANTS; i++)
      await client
        .resource<Tenant>(Tenant)
        .create({ apiVersion, kind: 'Tenant', metadata: { name: tenantOf(i) }, spec: {} });
    const vms = new FleetVMs(world, fleet, held.use(new BenchClient(fleet.address, CLIENTS)));
    held.use(vms.#watch());
    const images = client.resource<Image>(Image);
    while ((await images.get(IMAGE)).status?.holders?.length !== hosts) await world.clock.sleep(POLL_MS, world.signal);
    await vms.#cache.whenSynced(world.signal);
    return vms;
  }

  /** Sends the create of one more VM; answers what it is called once the server has taken it. */
  async create(): Promise<string> {
    const i = this.#made++;
    const [namespace, name] = [tenantOf(i), `vm-${i}`];
    const spec = { image: IMAGE, size: { vcpus: 1, memory: '512Mi' } };
    const vm = { apiVersion: 'coppice.dev/v1', kind: 'VM', metadata: { name, namespace }, spec };
    await this.#requests.send('POST', VMS_PATH(namespace), JSON.stringify(vm));
    return `${namespace}/${name}`;
  }

  /** Makes so many, a few dozen at a time; answers what they are called. */
  async createMany(count: number): Promise<readonly string[]> {
    const made: string[] = [];
    const one = async () => {
      while (this.#made < end) made.push(await this.create());
    };
    const end = this.#made + count;
    await Promise.all(Array.from({ length: CLIENTS }, one));
    return made;
  }

  /** Resolves when the watch has told that each is Ready. */
  async whenReady(keys: readonly string[]): Promise<void> {
    await this.#until(() => keys.every((key) => this.#ready.has(key)));
  }

  /** How many are Ready, as far as the watch has told. */
  get ready(): number {
    return this.#ready.size;
  }

  /** Resolves when the watch has told that it is bound to a host. */
  async whenBound(key: string): Promise<void> {
    await this.#until(() => this.#cache.get(key)?.spec.hostName !== undefined);
  }

  /** Deletes VMs, and resolves when the watch has told that they are gone. */
  async remove(keys: readonly string[]): Promise<void> {
    const left = [...keys];
    const one = async () => {
      for (let key = left.pop(); key !== undefined; key = left.pop()) {
        const [namespace = '', name = ''] = key.split('/');
        await this.#requests.send('DELETE', `${VMS_PATH(namespace)}/${name}`);
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, one));
    await this.#until(() => keys.every((key) => this.#cache.get(key) === undefined));
  }

  #watch(): AsyncDisposable {
    const { clock, signal } = this.#world;
    const ending = new AbortController();
    const resource = this.#fleet.client.resource<VM>(VM);
    const reflector = new Reflector<VM>({ resource, cache: this.#cache, clock, random: Math.random });
    this.#cache.subscribe(({ key, after }) => {
      if (after !== undefined && isTrue(after, 'Ready')) this.#ready.add(key);
      else this.#ready.delete(key);
      for (const look of this.#waiting) look();
    });
    const running = reflector.run(AbortSignal.any([signal, ending.signal]));
    return {
      async [Symbol.asyncDispose]() {
        ending.abort();
        await running;
      },
    };
  }

  #until(isSo: () => boolean): Promise<void> {
    const { signal } = this.#world;
    return new Promise((resolve, reject) => {
      const onAbort = () => end(() => reject(signal.reason));
      const look = () => {
        if (isSo()) end(resolve);
      };
      const end = (then: () => void) => {
        this.#waiting.delete(look);
        signal.removeEventListener('abort', onAbort);
        then();
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(look);
      look();
    });
  }
}

const tenantOf = (i: number) => `team-${i % TENANTS}`;
