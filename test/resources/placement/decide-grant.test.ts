import assert from 'node:assert/strict';
import fc from 'fast-check';
import { bySize, LEASE_FILTERS, leaseRefusal } from '../../../resources/guards/lease-host.ts';
import { HOSTS, POLICIES, TENANTS, VMS } from '../../../resources/guards/refs.ts';
import { World } from '../../../resources/guards/world.ts';
import type { Host } from '../../../resources/kinds/host.ts';
import type { Policy } from '../../../resources/kinds/policy.ts';
import type { VM } from '../../../resources/kinds/vm.ts';
import { objectKey } from '../../../resources/meta/object.ts';
import { decideGrant } from '../../../resources/placement/decide-grant.ts';
import { aPolicy } from '../../harness/a-policy.ts';
import { aHost, aLease, aTenant, aVM, EPOCH_START, type HostWish } from '../../harness/builders.ts';

function aMac(wish: HostWish = {}, status: Partial<Host['status']> = {}): Host {
  const host = aHost(wish);
  return { ...host, status: { ...host.status, os: 'darwin', ...status } };
}

function aWorld(hosts: readonly Host[], vms: readonly VM[] = [], policy: Policy = aPolicy()): World {
  const world = new World();
  world.set(TENANTS, 'red', aTenant('red', { hostGroup: 'default' }), 1);
  world.set(POLICIES, 'default', policy, 1);
  for (const host of hosts) world.set(HOSTS, host.metadata.name, host, 1);
  for (const vm of vms) world.set(VMS, objectKey(vm.metadata), vm, 1);
  return world;
}

const held = (namespace: string, more: object = {}) => ({
  lease: { namespace, name: 'old', uid: 'old', since: EPOCH_START, ...more },
});
const pending = (host: Host): Host => {
  const condition = { type: 'ScrubPending', status: 'True', reason: 'LeaseEnded', message: '' } as const;
  const conditions = [...(host.status?.conditions ?? []), { ...condition, lastTransitionTime: EPOCH_START }];
  return { ...host, status: { ...host.status, conditions } };
};
function waitOf(hosts: readonly Host[], spec = {}) {
  const decision = decideGrant(aLease({ spec }), aWorld(hosts), hosts);
  if (decision.kind === 'grant') throw new Error('it got a host');
  return decision;
}

const on = (namespace: string) => aVM({ namespace, name: 'x', spec: { hostName: 'mac-1' } });

describe('which host a lease gets', () => {
  it('the smallest that fits: by vCPUs, then memory, then name', () => {
    const hosts = [
      aMac({ name: 'c', vcpus: 16, memory: '8Gi' }),
      aMac({ name: 'b', vcpus: 8, memory: '32Gi' }),
      aMac({ name: 'z', vcpus: 8, memory: '16Gi' }),
      aMac({ name: 'a', vcpus: 8, memory: '16Gi' }),
    ];
    const got = (spec: object) => {
      const decision = decideGrant(aLease({ spec }), aWorld(hosts), hosts);
      return decision.kind === 'grant' ? decision.host.metadata.name : decision.reason;
    };
    assert.equal(got({}), 'a');
    assert.equal(got({ minMemory: '17Gi' }), 'b');
    assert.equal(got({ minVCPUs: 9 }), 'c');
    assert.equal(got({ hostName: 'z' }), 'z');
    assert.equal(got({ minVCPUs: 17 }), 'InsufficientVCPUs');
  });

  it('one that is held for its tenant before all others, however large', () => {
    const hosts = [aMac({ name: 'a', vcpus: 4 }), aMac({ name: 'big', vcpus: 64 }, held('red', { released: true }))];
    const decision = decideGrant(aLease(), aWorld(hosts), hosts);
    assert.equal(decision.kind === 'grant' && decision.host.metadata.name, 'big');
  });

  it('names what turned down the hosts that came furthest, however many others fell before, and counts them all', () => {
    const hosts = [
      aMac({ name: 'free', cordoned: true }),
      ...['a', 'b', 'c'].map((name) => aMac({ name }, held('blue'))),
      ...['x', 'y'].map((name) => aMac({ name }, { os: 'linux' })),
    ];
    const { reason, message, waiting } = waitOf(hosts);
    assert.equal(reason, 'Cordoned');
    assert.equal(message, '6 hosts: 1 cordoned, 3 leased to others, 2 no Macs');
    assert.deepEqual(
      waiting.map(({ reason, hosts }) => `${hosts} ${reason}`),
      ['1 Cordoned', '3 LeasedToOthers', '2 NotAMac'],
    );
  });

  const busy = { allowBusy: true };
  const cases: readonly [what: string, host: Host, spec: object, vms: readonly VM[], reason: string][] = [
    ['a Linux machine', aMac({}, { os: 'linux' }), {}, [], 'NotAMac'],
    ['a Linux machine, where any will do', aMac({}, { os: 'linux' }), { anyHost: true }, [], 'grant'],
    ['one of other labels', aMac(), { selector: { matchLabels: { a: 'b' } } }, [], 'SelectorMismatch'],
    ['one of the labels', aMac({ labels: { a: 'b' } }), { selector: { matchLabels: { a: 'b' } } }, [], 'grant'],
    ['one of another group', aMac({ group: 'other' }), {}, [], 'GroupMismatch'],
    ['one that cannot nest', aMac(), { nested: true }, [], 'NestedUnsupported'],
    ['one that can', aMac({}, { nested: true }), { nested: true }, [], 'grant'],
    ['one with little memory', aMac({ memory: '8Gi' }), { minMemory: '9Gi' }, [], 'InsufficientMemory'],
    ['one of another tenant', aMac({}, held('blue')), {}, [], 'LeasedToOthers'],
    ['one held for another tenant', aMac({}, held('blue', { released: true })), {}, [], 'LeasedToOthers'],
    ['one of its own tenant', aMac({}, held('red')), {}, [], 'AlreadyLeased'],
    ['one that is held, but let go', aMac({}, held('red', { released: true, ending: true })), {}, [], 'LeaseEnding'],
    ['one that is not heard', aMac({ ready: false }), {}, [], 'NotReady'],
    ['one that is cordoned', aMac({ cordoned: true }), {}, [], 'Cordoned'],
    ['one to be scrubbed', pending(aMac()), {}, [], 'ScrubPending'],
    ['one with VMs of the tenant', aMac(), {}, [on('red')], 'Busy'],
    ['the same, where that is allowed', aMac(), busy, [on('red')], 'grant'],
    ['one with VMs of others, though busy is allowed', aMac(), busy, [on('blue')], 'GuestsOfOthers'],
    [
      'one with a guest that nobody knows',
      aMac({}, { orphans: [{ id: 'x', label: 'x', power: 'Running' }] }),
      busy,
      [],
      'Busy',
    ],
  ];
  for (const [what, host, spec, vms, reason] of cases) {
    it(`${what}: ${reason}`, () => {
      const decision = decideGrant(aLease({ spec }), aWorld([host], vms), [host]);
      assert.equal(decision.kind === 'wait' ? decision.reason : 'grant', reason);
    });
  }

  it('is never one that the guard would refuse; the others are each turned down once, for the one there is no smaller', () => {
    const mac = fc
      .record({
        vcpus: fc.integer({ min: 1, max: 4 }),
        cordoned: fc.boolean(),
        ready: fc.boolean(),
        lessee: fc.constantFrom(undefined, 'red', 'blue'),
        os: fc.constantFrom('darwin', 'linux'),
      })
      .map(({ os, lessee, ...wish }) => aMac({ ...wish, ...(lessee === undefined ? {} : { lessee }) }, { os }));
    const fleet = fc
      .array(mac, { maxLength: 8 })
      .map((macs) => macs.map((host, i) => ({ ...host, metadata: { ...host.metadata, name: `mac-${i}` } })));
    fc.assert(
      fc.property(fleet, fc.integer({ min: 1, max: 4 }), (hosts, minVCPUs) => {
        const lease = aLease({ spec: { minVCPUs } });
        const world = aWorld(hosts);
        const decision = decideGrant(lease, world, hosts);
        const fitting = hosts.filter((host) => leaseRefusal(lease, host, world) === undefined);
        if (decision.kind === 'grant') {
          assert.ok(fitting.includes(decision.host));
          assert.ok(fitting.every((host) => host === decision.host || bySize(decision.host, host) < 0));
          return;
        }
        assert.deepEqual(fitting, []);
        assert.equal(
          decision.waiting.reduce((sum, each) => sum + each.hosts, 0),
          hosts.length,
        );
        assert.ok(decision.waiting.every(({ reason }) => Object.hasOwn(LEASE_FILTERS, reason)));
      }),
    );
  });
});
