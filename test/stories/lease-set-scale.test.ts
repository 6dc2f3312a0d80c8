import assert from 'node:assert/strict';
import { type Identity, OPERATOR, ownerIdentity } from '../../apiserver/auth/identity.ts';
import { LeaseSet } from '../../resources/kinds/lease-set.ts';
import { Pool } from '../../resources/kinds/pool.ts';
import { valueAt } from '../../resources/meta/object.ts';
import { FleetWorld } from '../harness/fleet-world.ts';
import type { RawAnswer } from '../harness/raw.ts';
import { send } from '../harness/raw.ts';
import { SetOfLeases } from '../harness/set-of-leases.ts';

interface Scale {
  metadata: { resourceVersion: string };
  spec: { replicas: number };
  status: { replicas: number; selector: string };
}

/** What a HorizontalPodAutoscaler does with a target: it knows nothing of it but its scale. */
class Autoscaler {
  readonly #world: FleetWorld;
  readonly #path: string;
  readonly #as: Identity;

  constructor(world: FleetWorld, path: string, as: Identity) {
    this.#world = world;
    this.#path = `namespaces/acme/${path}/scale`;
    this.#as = as;
  }

  async read(): Promise<Scale> {
    const { status, body, text } = await this.#world.request('GET', this.#path, undefined, this.#as);
    assert.equal(status, 200, text);
    return body as unknown as Scale;
  }

  write(scale: Scale): Promise<RawAnswer> {
    return this.#world.request('PUT', this.#path, scale, this.#as);
  }
}

describe('an autoscaler', () => {
  it('reads how many there are and by which selector, and sets how many there are to be', async () => {
    await using world = await FleetWorld.start();
    await world.tenant('acme');
    for (const name of ['a', 'b', 'c']) await world.mac(name);
    const set = new SetOfLeases(world);
    await set.asks({ replicas: 1 });
    await set.until('1/1 (Active)');
    const hpa = new Autoscaler(world, 'leasesets/builders', ownerIdentity('acme'));
    const scale = await hpa.read();
    assert.deepEqual([scale.spec.replicas, scale.status.replicas], [1, 1]);
    const query = `namespaces/acme/leases?labelSelector=${encodeURIComponent(scale.status.selector)}`;
    const { body } = await world.request('GET', query);
    assert.equal((valueAt(body, ['items']) as unknown[]).length, 1, 'the selector finds what is scaled');

    assert.equal((await hpa.write({ ...scale, spec: { replicas: 3 } })).status, 200);
    await set.until('3/3 (Active)');
    assert.deepEqual((await hpa.read()).status.replicas, 3);
    const late = await hpa.write({ ...scale, spec: { replicas: 2 } });
    assert.deepEqual([late.status, late.body.reason], [409, 'Conflict'], 'by a scale that was read before');
    const wide = await hpa.write({ ...(await hpa.read()), spec: { replicas: 1001 } });
    assert.deepEqual([wide.status, wide.body.details?.causes?.[0]?.field], [422, 'spec.replicas']);
    const negative = await hpa.write({ ...(await hpa.read()), spec: { replicas: -1 } });
    assert.deepEqual([negative.status, negative.body.details?.causes?.[0]?.field], [422, 'spec.replicas']);
  });

  it('of a tenant scales what is its own, LeaseSets and Pools, and nothing of others', async () => {
    await using world = await FleetWorld.start({ duties: false });
    for (const name of ['acme', 'beta']) await world.tenant(name);
    const template = { spec: {} };
    const size = { vcpus: 1, memory: '1Gi' };
    for (const namespace of ['acme', 'beta']) {
      await world.create(LeaseSet, { metadata: { name: 's', namespace }, spec: { replicas: 1, template } });
      await world.create(Pool, { metadata: { name: 'p', namespace }, spec: { replicas: 1, image: 'linux', size } });
    }
    for (const path of ['leasesets/s', 'pools/p']) {
      const patch = (namespace: string, as: Identity) =>
        world.request('PATCH', `namespaces/${namespace}/${path}/scale`, { spec: { replicas: 2 } }, as);
      assert.equal((await patch('acme', ownerIdentity('acme'))).status, 200, path);
      assert.equal((await patch('beta', ownerIdentity('acme'))).status, 404, path);
      assert.equal((await patch('beta', OPERATOR)).status, 200, path);
      const applied = await send(
        world.fleet.test.server.app,
        'PATCH',
        `/apis/coppice.dev/v1/namespaces/acme/${path}/scale?fieldManager=gitops&force=true`,
        {
          identity: ownerIdentity('acme'),
          headers: { 'content-type': 'application/apply-patch+yaml' },
          body: {
            apiVersion: 'autoscaling/v1',
            kind: 'Scale',
            metadata: { name: path.slice(-1) },
            spec: { replicas: 5 },
          },
        },
      );
      assert.equal(applied.status, 200, applied.text);
      assert.deepEqual(valueAt(applied.body, ['spec', 'replicas']), 5);
    }
  });

  it('has no use for what only operators ask: an owner’s set of leases on hosts of any kind is refused', async () => {
    await using world = await FleetWorld.start();
    await world.tenant('acme');
    const set = new SetOfLeases(world);
    const template = { spec: { releasePolicy: 'Refuse' as const, anyHost: true } };
    const refused = await set.asks({ replicas: 1, template }, ownerIdentity('acme'));
    assert.deepEqual([refused.status, refused.body.details?.causes?.[0]?.reason], [403, 'OperatorsOnly']);
    const released = { spec: { releasePolicy: 'Refuse' as const, release: { force: true } } };
    const body = {
      apiVersion: 'coppice.dev/v1',
      kind: 'LeaseSet',
      metadata: { name: 'x' },
      spec: { template: released },
    };
    const strict = await world.request('POST', 'namespaces/acme/leasesets?fieldValidation=Strict', body);
    assert.match(strict.body.message ?? '', /unknown field "spec\.template\.spec\.release"/);
    assert.equal((await set.asks({ replicas: 1, template })).status, 201);
    await world.until('its lease is made with it', () => set.leases[0]?.spec.anyHost === true);
    assert.deepEqual(
      set.leases[0]?.status?.overrides?.map(({ what, by }) => [what, by]),
      [['AnyHost', 'system:controller:leaseset']],
    );
    assert.deepEqual(world.fleet.errors, []);
  });
});
