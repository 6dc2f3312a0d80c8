import { controllerIdentity, type Identity } from '../../apiserver/auth/identity.ts';
import type { ResourceClient } from '../../apiserver/client/client.ts';
import type { ApiRequest, Transport } from '../../apiserver/client/transport.ts';
import type { Store } from '../../apiserver/store/store.ts';
import type { DutyName } from '../../controllers/duties.ts';
import { Controllers } from '../../controllers/run.ts';
import { type Clock, microTime } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import { silentLogger } from '../../resources/ambient/log.ts';
import { ManualClock } from '../../resources/ambient/manual-clock.ts';
import { systemIds } from '../../resources/ambient/system-ids.ts';
import { CoordinationLease } from '../../resources/kinds/coordination-lease.ts';
import { Host } from '../../resources/kinds/host.ts';
import { Image } from '../../resources/kinds/image.ts';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { VM } from '../../resources/kinds/vm.ts';
import type { Kind } from '../../resources/meta/define-kind.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import { resourceId } from '../../resources/meta/resource-id.ts';
import { HOST_LEASE_NAMESPACE, hostLeaseName } from '../../resources/streams/control-messages.ts';
import { aHost, anImage, aTenant, aVM, type HostWish } from './builders.ts';
import { eventually } from './eventually.ts';
import { startTestServer, type TestServer } from './server.ts';

/** The real server in memory and the real controllers joined to it, with time under the test's control. */
export class Fleet implements AsyncDisposable {
  readonly clock: ManualClock;
  readonly test: TestServer;
  readonly errors: string[] = [];
  /** Called before each request of a controller, or of a nodelet of a story, is sent, and waited for. What it throws fails the request. */
  onRequest: (identity: string, request: ApiRequest) => unknown = () => {};
  /** Called when a controller's request was answered, before it learns of it. */
  onAnswer: (identity: string, request: ApiRequest) => void = () => {};
  /** What controllers take for the time, where that is another. */
  controllersClock: Clock | undefined;
  #controllers: Controllers | undefined;

  private constructor(test: TestServer, clock: ManualClock) {
    this.test = test;
    this.clock = clock;
  }

  static async start(options: { readonly clock?: ManualClock; readonly store?: Store } = {}): Promise<Fleet> {
    const { clock = new ManualClock() } = options;
    return new Fleet(await startTestServer({ ...options, clock }), clock);
  }

  /** Starts these duties, or all. */
  startControllers(...only: readonly DutyName[]): Controllers {
    this.#controllers = this.#start(only, false);
    return this.#controllers;
  }

  /** Starts these duties, or all, as one of several processes, which the caller disposes of. */
  startShared(...only: readonly DutyName[]): Controllers {
    return this.#start(only, true);
  }

  #start(only: readonly DutyName[], shared: boolean): Controllers {
    const log: Logger = {
      ...silentLogger,
      error: (message, fields) => this.errors.push(`${message} ${JSON.stringify(fields)}`),
      child: () => log,
    };
    return new Controllers({
      shared,
      transportFor: (identity) => this.#transportFor(identity),
      clock: this.controllersClock ?? this.clock,
      ids: systemIds,
      random: () => 0,
      log,
      ...(only.length === 0 ? {} : { only }),
    });
  }

  async stopControllers(): Promise<void> {
    await this.#controllers?.[Symbol.asyncDispose]();
    this.#controllers = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopControllers();
    await this.test[Symbol.asyncDispose]();
  }

  /** The operator's hands. */
  resource<T extends KubeObject>(kind: Kind<T>, namespace?: string): ResourceClient<T> {
    return this.test.client.resource<T>(kind, namespace);
  }

  /** Without the Leases of the controllers' election. */
  all<T extends KubeObject>(kind: Kind<T>): readonly T[] {
    const cache = this.test.server.parts.cache.resource(resourceId(kind));
    const objects = [...cache.sorted()].map((stored) => stored.object as T);
    return objects.filter(({ metadata }) => metadata.labels?.['coppice.dev/election'] === undefined);
  }

  find<T extends KubeObject>(kind: Kind<T>, name: string, namespace?: string): T | undefined {
    return this.all(kind).find((o) => o.metadata.name === name && o.metadata.namespace === namespace);
  }

  vm(name: string, namespace = 'red'): VM | undefined {
    return this.find<VM>(VM, name, namespace);
  }

  async eventually(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
    try {
      await eventually(this.clock, what, holds);
    } catch (error) {
      throw new Error(`${String(error)}; last errors: ${this.errors.slice(-3).join(' | ')}`, { cause: error });
    }
  }

  /** A host as its nodelet would make it; connected, its driver working. Ready is for controllers to say, unless `ready` says it here. */
  async addHost(wish: HostWish = {}): Promise<Host> {
    const { metadata, spec, status } = aHost(wish);
    const hosts = this.resource<Host>(Host);
    const { name, labels = {} } = metadata;
    await hosts.create({ apiVersion: 'coppice.dev/v1', kind: 'Host', metadata: { name, labels }, spec });
    return hosts.patch(name, { status }, { subresource: 'status' });
  }

  /** What the server writes of a host's control socket. */
  async heartbeat(host: string, holderIdentity: string | null = 'test'): Promise<void> {
    const leases = this.resource<CoordinationLease>(CoordinationLease, HOST_LEASE_NAMESPACE);
    const name = hostLeaseName(host);
    const renewTime = microTime(this.clock.now());
    const spec = { renewTime, ...(holderIdentity === null ? {} : { holderIdentity }) };
    if (this.find<CoordinationLease>(CoordinationLease, name, HOST_LEASE_NAMESPACE) === undefined) {
      await leases.create({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name }, spec });
    } else {
      await leases.patch(name, { spec: { ...spec, holderIdentity } });
    }
  }

  async addTenant(name = 'red', spec: Tenant['spec'] = {}): Promise<Tenant> {
    const { apiVersion, kind } = aTenant(name);
    return this.resource<Tenant>(Tenant).create({ apiVersion, kind, metadata: { name }, spec });
  }

  async addImage(wish: Parameters<typeof anImage>[0] = {}): Promise<Image> {
    const { metadata, status, ...rest } = anImage(wish);
    const images = this.resource<Image>(Image);
    const image = await images.create({ ...rest, metadata: { name: metadata.name } });
    return status?.digest === undefined ? image : images.patch(metadata.name, { status }, { subresource: 'status' });
  }

  async addVM(name = 'web', spec: Partial<VM['spec']> = {}, namespace = 'red'): Promise<VM> {
    const { apiVersion, kind, spec: given } = aVM({ name, namespace });
    const { resolved: _, ...wished } = { ...given, ...spec };
    return this.resource<VM>(VM, namespace).create({ apiVersion, kind, metadata: { name }, spec: wished });
  }

  #transportFor(identity: string): Transport {
    return this.watched(identity, controllerIdentity(identity.slice('system:controller:'.length)));
  }

  /** What somebody sends, by the name that the hooks are told. */
  watched(identity: string, as: Identity): Transport {
    const inner = this.test.server.transportFor(as);
    return async (request) => {
      const held = this.onRequest(identity, request);
      if (held instanceof Promise) await held;
      const response = await inner(request);
      this.onAnswer(identity, request);
      return response;
    };
  }
}
