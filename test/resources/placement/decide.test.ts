import assert from 'node:assert/strict';
import fc from 'fast-check';
import { HOSTS, IMAGES, POLICIES, TENANTS, VMS } from '../../../resources/guards/refs.ts';
import { World } from '../../../resources/guards/world.ts';
import type { Host } from '../../../resources/kinds/host.ts';
import type { Image } from '../../../resources/kinds/image.ts';
import type { Policy } from '../../../resources/kinds/policy.ts';
import type { Tenant } from '../../../resources/kinds/tenant.ts';
import type { VM } from '../../../resources/kinds/vm.ts';
import { objectKey } from '../../../resources/meta/object.ts';
import { parseBytes } from '../../../resources/meta/quantity.ts';
import { decide, ENOUGH_FEASIBLE } from '../../../resources/placement/decide.ts';
import { aPolicy } from '../../harness/a-policy.ts';
import { aHost, anImage, aTenant, aVM, DIGEST, EPOCH_START } from '../../harness/builders.ts';

interface Setting {
  hosts?: Host[];
  vms?: VM[];
  tenants?: Tenant[];
  images?: Image[];
  policy?: Policy['spec'];
}

function aWorld({ hosts = [], vms = [], tenants = [aTenant()], images = [anImage()], policy }: Setting): World {
  const world = new World();
  for (const host of hosts) world.set(HOSTS, host.metadata.name, host, 1);
  for (const tenant of tenants) world.set(TENANTS, tenant.metadata.name, tenant, 1);
  for (const image of images) world.set(IMAGES, image.metadata.name, image, 1);
  for (const vm of vms) world.set(VMS, objectKey(vm.metadata), vm, 1);
  if (policy !== undefined) {
    const metadata = { name: 'default', uid: 'p', resourceVersion: '1', creationTimestamp: EPOCH_START };
    world.set(
      POLICIES,
      'default',
      { apiVersion: 'coppice.dev/v1', kind: 'Policy', metadata, spec: policy } as Policy,
      1,
    );
  }
  return world;
}

const told = (vm: VM, setting: Setting) => {
  const hosts = setting.hosts ?? [];
  const decision = decide(vm, aWorld({ ...setting, vms: [vm, ...(setting.vms ?? [])] }), hosts);
  return decision.kind === 'bind' ? decision.host : `${decision.reason}: ${decision.message}`;
};

const bound = (name: string, host: string, memory = '4Gi', namespace = 'red') =>
  aVM({ name, namespace, spec: { hostName: host, resolved: { digest: DIGEST, guestOS: 'linux', vcpus: 1, memory } } });

const unresolved = ({ resolved: _, ...spec }: VM['spec']): VM => ({ ...aVM(), spec });
const macOS: Partial<VM['spec']> = { resolved: { digest: DIGEST, guestOS: 'macos', vcpus: 2, memory: '4Gi' } };
const LENIENT = aPolicy({ requireLeaseForMacOS: false }).spec;

describe('where placement puts a VM', () => {
  const cases: readonly [string, VM, Setting, string][] = [
    ['the only host that fits', aVM(), { hosts: [aHost({ name: 'a' })] }, 'a'],
    [
      'the fullest host that still fits, so that empty ones stay whole',
      aVM(),
      { hosts: ['a', 'b', 'c'].map((name) => aHost({ name })), vms: [bound('x', 'b', '8Gi'), bound('y', 'c', '14Gi')] },
      'b',
    ],
    ['the first by name of hosts that are alike', aVM(), { hosts: ['b', 'a'].map((name) => aHost({ name })) }, 'a'],
    [
      'a host the tenant leases before any other, however empty',
      aVM(),
      { hosts: [aHost({ name: 'a', memory: '5Gi' }), aHost({ name: 'b', lessee: 'red', memory: '64Gi' })] },
      'b',
    ],
    [
      'another host when those it leases are full',
      aVM(),
      { hosts: [aHost({ name: 'a' }), aHost({ name: 'b', lessee: 'red', memory: '1Gi' })] },
      'a',
    ],
    [
      'a host of the group of its tenant',
      aVM(),
      {
        hosts: [aHost({ name: 'a' }), aHost({ name: 'b', group: 'lab' })],
        tenants: [aTenant('red', { hostGroup: 'lab' })],
      },
      'b',
    ],
    [
      'a host that its selector matches',
      aVM({ spec: { hostSelector: { matchLabels: { disk: 'fast' } } } }),
      { hosts: [aHost({ name: 'a' }), aHost({ name: 'b', labels: { disk: 'fast' } })] },
      'b',
    ],
    [
      'macOS on a Mac it leases',
      aVM({ spec: macOS }),
      { hosts: [aHost({ name: 'a' }), aHost({ name: 'b', lessee: 'red' })] },
      'b',
    ],
    ['an unadmitted VM, once its image is known', unresolved(aVM().spec), { hosts: [aHost({ name: 'a' })] }, 'a'],
  ];
  for (const [claim, vm, setting, expected] of cases) it(claim, () => assert.equal(told(vm, setting), expected));

  it('counts bindings up', () => {
    const hosts = [aHost()];
    const world = aWorld({ hosts });
    const epochs = [undefined, 1, 7].map((epoch) => {
      const decision = decide(aVM({ spec: epoch === undefined ? {} : { epoch } }), world, hosts);
      return decision.kind === 'bind' ? decision.epoch : decision;
    });
    assert.deepEqual(epochs, [1, 2, 8]);
  });
});

describe('what is kept of a decision of placement', () => {
  const kept = (setting: Setting) => decide(aVM(), aWorld(setting), setting.hosts ?? []);

  it('is the host, why it was chosen, and what the others were turned down for', () => {
    const hosts = [
      aHost({ name: 'a' }),
      aHost({ name: 'b', cordoned: true }),
      aHost({ name: 'c', ready: false }),
      aHost({ name: 'd', cordoned: true }),
      aHost({ name: 'e' }),
    ];
    assert.deepEqual(kept({ hosts, vms: [bound('x', 'e')] }).placement, {
      host: 'e',
      why: 'Fullest',
      fitting: 2,
      turnedDown: [
        { reason: 'Cordoned', hosts: 2 },
        { reason: 'NotReady', hosts: 1 },
      ],
    });
  });

  it('is that the tenant pays for the host, where it does, though another is fuller', () => {
    const hosts = [aHost({ name: 'a' }), aHost({ name: 'b', lessee: 'red' })];
    assert.deepEqual(kept({ hosts, vms: [bound('x', 'a')] }).placement, { host: 'b', why: 'PaidFor', fitting: 1 });
  });

  it('is the counts while it waits, and nothing where no host was looked at', () => {
    const hosts = [aHost({ cordoned: true })];
    assert.deepEqual(kept({ hosts }).placement, { fitting: 0, turnedDown: [{ reason: 'Cordoned', hosts: 1 }] });
    assert.equal(kept({ hosts, tenants: [aTenant('red', { disabled: true })] }).placement, undefined);
  });
});

describe('why placement lets a VM wait', () => {
  const cases: readonly [string, VM, Setting, string][] = [
    [
      'no tenant',
      unresolved(aVM().spec),
      { tenants: [] },
      'TenantNotFound: no Tenant is named red; the VM waits for it',
    ],
    ['no image', unresolved(aVM().spec), { images: [] }, 'ImageNotFound: no Image is named tiny; the VM waits for it'],
    [
      'an image no host has',
      unresolved(aVM().spec),
      { images: [anImage({ status: {} })] },
      'ImageNotReady: no host has found image tiny yet (path tiny)',
    ],
    ['no hosts', aVM(), {}, 'NoHosts: 0 of 0 hosts fit: no host has joined yet'],
    [
      'counts for each filter, that of the hosts which came furthest first, with what was free',
      aVM(),
      {
        hosts: [
          ...['a', 'b', 'c'].map((name) => aHost({ name, lessee: 'blue' })),
          ...['d', 'e'].map((name) => aHost({ name, cordoned: true })),
          aHost({ name: 'f', memory: '1536Mi' }),
          aHost({ name: 'g', memory: '1Gi' }),
        ],
      },
      'InsufficientMemory: 0 of 7 hosts fit: 2 InsufficientMemory (largest free 1.5Gi, needs 4Gi), 3 LeasedToOthers, 2 Cordoned',
    ],
    [
      'taken slots of the one Mac it leases, rather than the leases it lacks of all others',
      aVM({ spec: macOS }),
      {
        hosts: [
          aHost({ name: 'own', lessee: 'red', leaked: 2 }),
          ...['a', 'b', 'c', 'd', 'e'].map((name) => aHost({ name })),
        ],
      },
      'MacSlotLimit: 0 of 6 hosts fit: 1 MacSlotLimit, 5 LeaseRequired',
    ],
    [
      'a size that no host has, rather than the cordon of some',
      aVM({ spec: { resolved: { digest: DIGEST, guestOS: 'linux', vcpus: 40, memory: '1Gi' } } }),
      { hosts: [aHost({ name: 'a' }), ...['b', 'c', 'd'].map((name) => aHost({ name, cordoned: true }))] },
      'InsufficientVCPUs: 0 of 4 hosts fit: 1 InsufficientVCPUs (largest host 16, needs 40), 3 Cordoned',
    ],
    [
      'too few vCPUs guaranteed',
      aVM({ spec: { class: 'reserved', resolved: { digest: DIGEST, guestOS: 'linux', vcpus: 4, memory: '1Gi' } } }),
      { hosts: [aHost({ name: 'a', vcpus: 4 })], vms: [bound('x', 'a', '1Gi')] },
      'InsufficientVCPUs: 0 of 1 hosts fit: 1 InsufficientVCPUs (most free 3.75 guaranteed, needs 4)',
    ],
    [
      'more vCPUs than any host has',
      aVM({ spec: { resolved: { digest: DIGEST, guestOS: 'linux', vcpus: 32, memory: '1Gi' } } }),
      { hosts: [aHost({ name: 'a', vcpus: 16 })] },
      'InsufficientVCPUs: 0 of 1 hosts fit: 1 InsufficientVCPUs (largest host 16, needs 32)',
    ],
    [
      'a second macOS guest beside a leaked slot',
      aVM({ spec: macOS }),
      {
        hosts: [aHost({ name: 'a', lessee: 'red', memory: '64Gi', leaked: 1 })],
        vms: [aVM({ name: 'x', spec: { ...macOS, hostName: 'a' } })],
      },
      'MacSlotLimit: 0 of 1 hosts fit: 1 MacSlotLimit',
    ],
    [
      'a third macOS guest',
      aVM({ spec: macOS }),
      {
        hosts: [aHost({ name: 'a', lessee: 'red', memory: '64Gi' })],
        vms: ['x', 'y'].map((name) => aVM({ name, spec: { ...macOS, hostName: 'a' } })),
      },
      'MacSlotLimit: 0 of 1 hosts fit: 1 MacSlotLimit',
    ],
    [
      'macOS without a lease',
      aVM({ spec: macOS }),
      { hosts: [aHost({ name: 'a' })] },
      'LeaseRequired: 0 of 1 hosts fit: 1 LeaseRequired',
    ],
    ['a host that is not ready', aVM(), { hosts: [aHost({ ready: false })] }, 'NotReady: 0 of 1 hosts fit: 1 NotReady'],
    [
      'a quota that has no room left, with the numbers',
      unresolved(aVM().spec),
      { hosts: [aHost({ name: 'a' })], tenants: [aTenant('red', { quota: { maxVMs: 1 } })], vms: [bound('x', 'a')] },
      'QuotaExceeded: exceeded quota: maxVMs: requested 1, used 1, limited 1',
    ],
  ];
  for (const [claim, vm, setting, expected] of cases) it(claim, () => assert.equal(told(vm, setting), expected));
});

describe('placement in a large fleet', () => {
  it('looks no further than enough, from where it is told on', () => {
    const hosts = Array.from({ length: 200 }, (_, n) => aHost({ name: `h-${String(n).padStart(3, '0')}` }));
    const decision = decide(aVM(), aWorld({ hosts }), hosts, 170);
    // From 170 to the end and round: 30 and 20 hosts, the first of which by name is 000.
    assert.deepEqual(decision.kind === 'bind' && decision.host, 'h-000');
    const next = decide(aVM(), aWorld({ hosts }), hosts, 20);
    assert.deepEqual(next.kind === 'bind' && next.host, 'h-020');
    assert.equal(ENOUGH_FEASIBLE, 50);
  });
});

describe('what placement never does', () => {
  const aFleet = fc.array(
    fc.record({
      memory: fc.constantFrom('4Gi', '8Gi', '16Gi'),
      vcpus: fc.constantFrom(2, 4, 8),
      slots: fc.constantFrom(0, 2),
      lessee: fc.constantFrom(undefined, 'red', 'blue'),
      cordoned: fc.boolean(),
    }),
    { minLength: 1, maxLength: 6 },
  );
  const aWish = fc.record({
    namespace: fc.constantFrom('red', 'blue'),
    guestOS: fc.constantFrom('linux' as const, 'macos' as const),
    vcpus: fc.constantFrom(1, 2, 4),
    memory: fc.constantFrom('1Gi', '2Gi', '5Gi'),
    vmClass: fc.constantFrom('flex' as const, 'reserved' as const),
    gone: fc.boolean(),
  });

  it('is to give a host more than it has, a third macOS guest, or two tenants on a leased host', async () => {
    const keeps = fc.property(aFleet, fc.array(aWish, { maxLength: 40 }), fc.boolean(), (fleet, wishes, strict) => {
      const hosts = fleet.map(({ lessee, ...rest }, n) => aHost({ name: `h${n}`, ...rest, ...(lessee && { lessee }) }));
      const world = aWorld({
        hosts,
        tenants: [aTenant('red'), aTenant('blue')],
        policy: strict ? { ...LENIENT, requireLeaseForMacOS: true } : LENIENT,
      });
      for (const [n, { namespace, vmClass, gone, ...size }] of wishes.entries()) {
        const vm = aVM({ name: `v${n}`, namespace, spec: { class: vmClass, resolved: { digest: DIGEST, ...size } } });
        world.set(VMS, objectKey(vm.metadata), vm, 1);
        const decision = decide(vm, world, hosts, n);
        if (decision.kind === 'wait') continue;
        const placed: VM = { ...vm, spec: { ...vm.spec, hostName: decision.host } };
        world.assume(VMS, objectKey(vm.metadata), placed, 100 + n);
        if (gone) world.set(VMS, objectKey(vm.metadata), undefined, 1000);
        safe(world, hosts);
      }
      const counted = world.recount();
      for (const { metadata } of hosts) assert.deepEqual(world.hostUse(metadata.name), counted.hostUse(metadata.name));
      for (const ns of ['red', 'blue']) assert.deepEqual(world.tenantUse(ns), counted.tenantUse(ns));
    });
    await fc.assert(keeps, { numRuns: 300 });
  });
});

/** Counted from the objects themselves, not from the sums that decided. */
function safe(world: World, hosts: readonly Host[]): void {
  for (const host of hosts) {
    const here = [...world.list<VM>(VMS)].filter((vm) => vm.spec.hostName === host.metadata.name);
    const { allocatable, macosSlots, lease } = host.status ?? {};
    const sum = (of: (vm: VM) => number) => here.reduce((total, vm) => total + of(vm), 0);
    assert.ok(
      sum((vm) => parseBytes(vm.spec.resolved?.memory ?? '0') ?? 0) <= (parseBytes(allocatable?.memory ?? '0') ?? 0),
    );
    const guaranteed = sum((vm) => (vm.spec.resolved?.vcpus ?? 0) * (vm.spec.class === 'reserved' ? 1 : 0.25));
    assert.ok(guaranteed <= (allocatable?.vcpus ?? 0));
    assert.ok(sum((vm) => (vm.spec.resolved?.guestOS === 'macos' ? 1 : 0)) <= (macosSlots?.total ?? 0));
    if (lease !== undefined)
      assert.deepEqual(
        [...new Set(here.map((vm) => vm.metadata.namespace))].filter((ns) => ns !== lease.namespace),
        [],
      );
    if (host.spec.cordoned) assert.equal(here.length, 0);
  }
}
