import assert from 'node:assert/strict';
import { controllerIdentity } from '../../../apiserver/auth/identity.ts';
import { ApiClient } from '../../../apiserver/client/client.ts';
import { reconcile } from '../../../controllers/leaseset/reconcile.ts';
import type { LeaseSetDeps } from '../../../controllers/leaseset/set-deps.ts';
import { WrittenLeases } from '../../../controllers/leaseset/written-leases.ts';
import { Cache } from '../../../controllers/runtime/cache.ts';
import { EventRecorder } from '../../../controllers/runtime/events.ts';
import { silentLogger } from '../../../resources/ambient/log.ts';
import { LEASE_SET_LABEL, ownerSetOf } from '../../../resources/guards/lease-set.ts';
import { Lease } from '../../../resources/kinds/lease.ts';
import { LeaseSet } from '../../../resources/kinds/lease-set.ts';
import type { Tenant } from '../../../resources/kinds/tenant.ts';
import type { VM } from '../../../resources/kinds/vm.ts';
import { objectKey } from '../../../resources/meta/object.ts';
import { Fleet } from '../../harness/fleet.ts';

const NEVER = new AbortController().signal;

/** A duty whose caches show what they are told, and nothing else. */
class Blind implements AsyncDisposable {
  readonly fleet: Fleet;
  readonly sets = new Cache<LeaseSet>();
  readonly leases = new Cache<Lease>();
  readonly #tenants = new Cache<Tenant>();
  readonly #ended: (() => void)[] = [];
  #deps: LeaseSetDeps;
  /** Called once, when Leases were listed and nobody knows of it yet. */
  afterList: (() => Promise<void>) | undefined;

  private constructor(fleet: Fleet) {
    this.fleet = fleet;
    this.#deps = this.#startProcess();
  }

  static async start(replicas: number): Promise<Blind> {
    const fleet = await Fleet.start();
    const blind = new Blind(fleet);
    blind.#tenants.replace([await fleet.addTenant('red')]);
    const body = {
      apiVersion: 'coppice.dev/v1',
      kind: 'LeaseSet',
      metadata: { name: 'ci' },
      spec: { replicas, template: { spec: { releasePolicy: 'Refuse' as const } } },
    };
    blind.sets.replace([await fleet.resource<LeaseSet>(LeaseSet, 'red').create(body)]);
    blind.leases.replace([]);
    return blind;
  }

  /** Another process takes over: it remembers nothing of what this one wrote. */
  restart(): void {
    this.#deps = this.#startProcess();
  }

  reconcile() {
    return reconcile('red/ci', this.#deps, NEVER);
  }

  reconcileAsAnother() {
    return reconcile('red/ci', this.#startProcess(), NEVER);
  }

  /** The set as it is on the server by now. */
  async seesSet(): Promise<void> {
    this.sets.replace([await this.fleet.resource<LeaseSet>(LeaseSet, 'red').get('ci')]);
  }

  seesLeases(): void {
    this.leases.replace(this.fleet.all<Lease>(Lease));
  }

  get made(): number {
    return this.fleet.all<Lease>(Lease).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const end of this.#ended) end();
    await this.fleet[Symbol.asyncDispose]();
  }

  #startProcess(): LeaseSetDeps {
    const { fleet } = this;
    const transport = fleet.test.server.transportFor(controllerIdentity('leaseset'));
    const client = new ApiClient(async (request) => {
      const answer = await transport(request);
      const { afterList } = this;
      if (request.method === 'GET' && request.path.includes('/leases?')) {
        this.afterList = undefined;
        await afterList?.();
      }
      return answer;
    });
    const written = new WrittenLeases(this.leases, fleet.clock);
    this.#ended.push(written.watch.start(() => {}));
    return {
      client,
      sets: this.sets,
      leases: this.leases,
      leasesBySet: this.leases.index((lease) => [
        objectKey({ name: lease.metadata.labels?.[LEASE_SET_LABEL] ?? '', namespace: lease.metadata.namespace }),
        ownerSetOf(lease)?.uid ?? '',
      ]),
      tenants: this.#tenants,
      vmsByPlace: new Cache<VM>().index(() => []),
      written,
      events: new EventRecorder({ client, component: 'x', instance: 'x', clock: fleet.clock, log: silentLogger }),
      clock: fleet.clock,
      log: silentLogger,
    };
  }
}

describe('the leaseset duty, whose caches are behind', () => {
  it('makes no Lease twice, however often it looks', async () => {
    await using blind = await Blind.start(5);
    await blind.reconcile();
    assert.equal(blind.made, 5);
    for (let i = 0; i < 3; i++) {
      await blind.seesSet();
      await blind.reconcile();
    }
    assert.equal(blind.made, 5);
  });

  it('makes none twice when another process takes over that does not see the Leases', async () => {
    await using blind = await Blind.start(5);
    await blind.reconcile();
    blind.restart();
    await assert.rejects(blind.reconcile(), { reason: 'Conflict' });
    await blind.seesSet();
    await blind.reconcile();
    assert.equal(blind.made, 5);
  });

  it('asks for the same names as another process that comes in between its look at the server and its making', async () => {
    await using blind = await Blind.start(3);
    blind.afterList = async () => {
      await blind.seesSet();
      await blind.reconcileAsAnother();
      assert.equal(blind.made, 3);
    };
    assert.equal((await blind.reconcile().catch(() => ({ again: true }))).again, true);
    assert.equal(blind.made, 3);
  });

  it('makes what is missing, and no more, when it sees some of them', async () => {
    await using blind = await Blind.start(5);
    await blind.reconcile();
    blind.seesLeases();
    const [one, two] = blind.fleet.all<Lease>(Lease);
    for (const lease of [one, two]) await blind.fleet.resource<Lease>(Lease, 'red').delete(lease?.metadata.name ?? '');
    blind.seesLeases();
    await blind.seesSet();
    await blind.reconcile();
    assert.equal(blind.made, 5);
    assert.equal(
      blind.fleet.all<Lease>(Lease).some(({ metadata }) => metadata.name === one?.metadata.name),
      false,
      'a name does not come again',
    );
  });

  it('drops no more than there is too much, though the cache shows what it dropped', async () => {
    await using blind = await Blind.start(5);
    await blind.reconcile();
    blind.seesLeases();
    await blind.fleet.resource<LeaseSet>(LeaseSet, 'red').patch('ci', { spec: { replicas: 2 } });
    for (let i = 0; i < 3; i++) {
      await blind.seesSet();
      await blind.reconcile();
    }
    assert.equal(blind.made, 2);
  });

  it('loses the race for a Lease that was given its host meanwhile, and does not delete it', async () => {
    await using blind = await Blind.start(1);
    await blind.reconcile();
    blind.seesLeases();
    const [lease] = blind.fleet.all<Lease>(Lease);
    const leases = blind.fleet.resource<Lease>(Lease, 'red');
    await leases.patch(lease?.metadata.name ?? '', { metadata: { annotations: { touched: 'yes' } } });
    await blind.fleet.resource<LeaseSet>(LeaseSet, 'red').patch('ci', { spec: { replicas: 0 } });
    await blind.seesSet();
    await assert.rejects(blind.reconcile(), { reason: 'Conflict' });
    assert.equal(blind.made, 1);
  });
});
