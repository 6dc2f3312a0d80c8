import assert from 'node:assert/strict';
import fc from 'fast-check';
import { HOSTS, LEASES, POLICIES, VMS, VOLUMES } from '../../../resources/guards/refs.ts';
import { World } from '../../../resources/guards/world.ts';
import type { Host } from '../../../resources/kinds/host.ts';
import type { Lease } from '../../../resources/kinds/lease.ts';
import type { Volume } from '../../../resources/kinds/volume.ts';
import { type KubeObject, objectKey } from '../../../resources/meta/object.ts';
import { aVolume } from '../../builders/volume.ts';
import { aPolicy } from '../../harness/a-policy.ts';
import { aHost, aVM } from '../../harness/builders.ts';

const SPACES = ['red', 'blue', 'red-2'];
const MACS = ['mac-1', 'mac-2'];

const vm = fc
  .record({
    namespace: fc.constantFrom(...SPACES),
    name: fc.constantFrom('a', 'b', 'c'),
    host: fc.option(fc.constantFrom(...MACS), { nil: undefined }),
    power: fc.constantFrom('Running', 'Stopped'),
    vcpus: fc.integer({ min: 1, max: 8 }),
    guestOS: fc.constantFrom('linux', 'macos'),
    admitted: fc.boolean(),
  })
  .map(({ namespace, name, host, power, vcpus, guestOS, admitted }) => {
    const made = aVM({ namespace, name, spec: { power, ...(host === undefined ? {} : { hostName: host }) } });
    const { resolved, ...spec } = made.spec;
    return {
      ...made,
      spec: admitted && resolved !== undefined ? { ...spec, resolved: { ...resolved, vcpus, guestOS } } : spec,
    };
  });
const host = fc
  .record(
    { name: fc.constantFrom(...MACS), group: fc.constantFrom('default', 'local'), lessee: fc.constantFrom(...SPACES) },
    { requiredKeys: ['name', 'group'] },
  )
  .map(aHost);
const lease = fc
  .record({
    namespace: fc.constantFrom(...SPACES),
    name: fc.constantFrom('a', 'b'),
    phase: fc.constantFrom(undefined, 'Pending', 'Active', 'Ending', 'Ended'),
  })
  .map(({ namespace, name, phase }) => ({
    apiVersion: 'coppice.dev/v1',
    kind: 'Lease',
    metadata: { name, namespace, uid: name, resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: {},
    ...(phase === undefined ? {} : { status: { phase } }),
  }));
const volume = fc
  .record({
    namespace: fc.constantFrom(...SPACES),
    name: fc.constantFrom('a', 'b'),
    host: fc.option(fc.constantFrom(...MACS), { nil: undefined }),
    lost: fc.boolean(),
    elsewhere: fc.boolean(),
  })
  .map(({ lost, elsewhere, ...wish }) =>
    aVolume({
      ...wish,
      status: { ...(lost ? { phase: 'Lost' } : {}), ...(elsewhere ? { hostUID: 'of another' } : {}) },
    }),
  );
const policy = fc
  .constantFrom('1/2', '1/32')
  .map((flexShare) => aPolicy({ hostGroups: [{ name: 'local', flexShare }] }));
const object = fc.oneof(
  { weight: 6, arbitrary: vm.map((of) => ({ ref: VMS, of: of as KubeObject })) },
  { weight: 2, arbitrary: lease.map((of) => ({ ref: LEASES, of: of as KubeObject })) },
  { weight: 2, arbitrary: host.map((of) => ({ ref: HOSTS, of: of as KubeObject })) },
  { weight: 2, arbitrary: volume.map((of) => ({ ref: VOLUMES, of: of as KubeObject })) },
  { weight: 1, arbitrary: policy.map((of) => ({ ref: POLICIES, of: of as KubeObject })) },
);
const step = fc.record({
  what: object,
  act: fc.constantFrom('set', 'remove', 'assume', 'assume-removal', 'catch-up', 'drop'),
  back: fc.nat({ max: 3 }),
});

const hostsAndLeases = ({ leasedHosts, openLeases }: ReturnType<World['tenantUse']>) => [leasedHosts, openLeases];

/** Those that lie on a host and are not lost, by looking at each. */
function volumesOn(objects: readonly KubeObject[], mac: string): readonly Volume[] {
  const there = objects.find((of) => of.kind === 'Host' && of.metadata.name === mac);
  return (objects.filter((of) => of.kind === 'Volume') as Volume[]).filter(
    ({ spec, status }) =>
      spec.hostName === mac &&
      status?.phase !== 'Lost' &&
      (there === undefined || status?.hostUID === there.metadata.uid),
  );
}

/** The same by looking at each object. */
function countedOf(objects: readonly KubeObject[], space: string): readonly number[] {
  const leased = objects.filter((of) => of.kind === 'Host' && (of as Host).status?.lease?.namespace === space);
  const open = objects.filter((of) => of.kind === 'Lease' && (of as Lease).status?.phase !== 'Ended');
  return [leased.length, open.filter(({ metadata }) => metadata.namespace === space).length];
}

describe('the world of the guards', () => {
  it('keeps sums and namespaces that are those of its objects, whatever was written, assumed and dropped', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const world = new World();
        const committed = new Map<string, KubeObject>();
        let assumed: { key: string; id: string; of: KubeObject | undefined; revision: number }[] = [];
        let revision = 0;
        for (const { what, act, back } of steps) {
          const key = objectKey(what.of.metadata);
          const id = `${what.ref.plural} ${key}`;
          const write = (of: KubeObject | undefined, at: number) => {
            world.set(what.ref, key, of, at);
            if (of === undefined) committed.delete(id);
            else committed.set(id, of);
            assumed = assumed.filter((over) => over.id !== id || over.revision > at);
          };
          revision++;
          if (act === 'set' || act === 'remove') write(act === 'set' ? what.of : undefined, revision);
          else if (act === 'drop') {
            world.dropFrom(revision - back);
            assumed = assumed.filter((over) => over.revision < revision - back);
          } else if (act === 'catch-up') {
            const over = assumed.find((one) => one.id === id);
            if (over !== undefined) write(over.of, over.revision);
          } else {
            const of = act === 'assume' ? what.of : undefined;
            world.assume(what.ref, key, of, revision);
            assumed = [...assumed.filter((one) => one.id !== id), { key, id, of, revision }];
          }
          // A sum that was asked for is kept, and must be moved or forgotten by what comes next.
          for (const space of SPACES) world.tenantUse(space);
          for (const mac of MACS) world.hostUse(mac);
        }
        const current = new Map(committed);
        for (const { id, of } of assumed) {
          if (of === undefined) current.delete(id);
          else current.set(id, of);
        }
        const vms = [...current].filter(([id]) => id.startsWith('vms ')).map(([, of]) => of);
        const names = (objects: Iterable<KubeObject>) => [...objects].map(({ metadata }) => objectKey(metadata)).sort();
        assert.deepEqual(names(world.list(VMS)), names(vms));
        const recount = world.recount();
        for (const space of SPACES) {
          assert.deepEqual(
            names(world.list(VMS, space)),
            names(vms.filter(({ metadata }) => metadata.namespace === space)),
          );
          assert.deepEqual(world.tenantUse(space), recount.tenantUse(space));
          assert.deepEqual(hostsAndLeases(world.tenantUse(space)), countedOf([...current.values()], space));
        }
        for (const mac of MACS) {
          assert.deepEqual(world.hostUse(mac), recount.hostUse(mac));
          assert.deepEqual(names(world.volumesOn(mac)), names(volumesOn([...current.values()], mac)));
        }
      }),
      { numRuns: 400, seed: 11 },
    );
  });

  it('counts a guest on its host from when it is bound until its host says that it is off or gone, also one that is deleted before it was told of', () => {
    const bound = aVM({ name: 'a', spec: { hostName: 'mac-1', epoch: 1, guestID: 'g', power: 'Running' } });
    const going = { ...bound, metadata: { ...bound.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    const told = (power: 'Running' | 'Off' | 'Gone') => ({
      ...going,
      status: { guest: { id: 'g', power, epoch: 1 } },
    });
    const stopped = { ...going, spec: { ...going.spec, power: 'Stopped' as const } };
    const holds = (object: KubeObject) => {
      const world = new World();
      world.set(HOSTS, 'mac-1', aHost({ name: 'mac-1' }), 1);
      world.set(VMS, objectKey(object.metadata), object, 2);
      return world.hostUse('mac-1').memoryBytes > 0;
    };
    assert.deepEqual([bound, going, told('Running')].map(holds), [true, true, true]);
    assert.deepEqual([told('Off'), told('Gone'), stopped].map(holds), [false, false, false]);
  });

  it('forgets a namespace with its last object, and no other whose name begins alike', () => {
    const world = new World();
    for (const namespace of SPACES) world.set(VMS, `${namespace}/a`, aVM({ namespace, name: 'a' }), 1);
    assert.equal([...world.list(VMS, 'red')].length, 1);
    world.set(VMS, 'red/a', undefined, 2);
    assert.deepEqual([...world.list(VMS, 'red')], []);
    assert.equal([...world.list(VMS, 'red-2')].length, 1);
  });
});
