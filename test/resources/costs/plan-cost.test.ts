import assert from 'node:assert/strict';
import type { ObjectChange } from '../../../resources/costs/cost-line.ts';
import { exactMoney } from '../../../resources/costs/money.ts';
import { planCost } from '../../../resources/costs/plan-cost.ts';
import * as refs from '../../../resources/guards/refs.ts';
import { World } from '../../../resources/guards/world.ts';
import type { Host } from '../../../resources/kinds/host.ts';
import type { Lease } from '../../../resources/kinds/lease.ts';
import type { LeaseSet } from '../../../resources/kinds/lease-set.ts';
import type { Pool } from '../../../resources/kinds/pool.ts';
import type { PriceList } from '../../../resources/kinds/price-list.ts';
import type { Tenant } from '../../../resources/kinds/tenant.ts';
import type { Volume } from '../../../resources/kinds/volume.ts';
import { type KubeObject, objectKey } from '../../../resources/meta/object.ts';
import { aPolicy } from '../../harness/a-policy.ts';
import { aHost, aLease, anImage, aTenant, aVM } from '../../harness/builders.ts';

/** A Monday, in no schedule of these. */
const NOW = '2026-03-02T22:00:00Z';
const LATER = '2026-03-03T08:00:00Z';
const BEFORE = '2026-03-01T08:00:00Z';

const PRICES: PriceList = {
  apiVersion: 'coppice.dev/v1',
  kind: 'PriceList',
  metadata: { name: 'default', uid: 'p', resourceVersion: '1', creationTimestamp: BEFORE },
  spec: {
    currency: 'USD',
    macPerHour: '0.60',
    vmPerHour: '0.01',
    vcpuPerHour: '0.02',
    memoryGiBPerHour: '0.005',
    macosVMPerHour: '0.1',
    volumeGiBPerHour: '0.0001',
    macClasses: [
      { name: 'mini', minVCPUs: 8, minMemory: '16Gi', perHour: '0.85' },
      { name: 'studio', minVCPUs: 16, minMemory: '64Gi', perHour: '2.10' },
    ],
  },
};

function aMac(name: string, vcpus: number, memory: string, status: Partial<Host['status']> = {}): Host {
  const host = aHost({ name, vcpus, memory });
  return { ...host, status: { ...host.status, os: 'darwin', ...status } };
}

const MACS = [aMac('mini-1', 8, '16Gi'), aMac('mini-2', 8, '16Gi'), aMac('studio', 16, '64Gi')];

function claimed(mac: Host, more: object): Host {
  const lease = { namespace: 'red', name: 'old', uid: 'old', since: BEFORE, pricePerHour: '0.70', currency: 'USD' };
  return { ...mac, status: { ...mac.status, lease: { ...lease, ...more } } };
}

function granted(name: string, earliestEnd: string, pricePerHour = '0.85', set?: string): Lease {
  const lease = aLease({
    name,
    status: { phase: 'Active', host: `host-of-${name}`, grantedAt: BEFORE, earliestEnd, pricePerHour, currency: 'USD' },
  });
  if (set === undefined) return lease;
  const owner = { apiVersion: 'coppice.dev/v1', kind: 'LeaseSet', name: set, uid: `uid-of-${set}`, controller: true };
  const labels = { 'coppice.dev/lease-set': set };
  return { ...lease, metadata: { ...lease.metadata, labels, ownerReferences: [owner] } };
}

function aSet(replicas: number, spec: Partial<LeaseSet['spec']> = {}): LeaseSet {
  const metadata = {
    name: 'set',
    namespace: 'red',
    uid: 'uid-of-set',
    resourceVersion: '1',
    creationTimestamp: BEFORE,
  };
  const template = { spec: { releasePolicy: 'WhenAllowed' as const } };
  return { apiVersion: 'coppice.dev/v1', kind: 'LeaseSet', metadata, spec: { replicas, template, ...spec } };
}

function aPool(replicas: number, spec: Partial<Pool['spec']> = {}): Pool {
  const metadata = { name: 'pool', namespace: 'red', uid: 'pool', resourceVersion: '1', creationTimestamp: BEFORE };
  return {
    apiVersion: 'coppice.dev/v1',
    kind: 'Pool',
    metadata,
    spec: { image: 'tiny', class: 'flex', replicas, ...spec },
  };
}

function aVolume(size: string): Volume {
  const metadata = { name: 'data', namespace: 'red', uid: 'data', resourceVersion: '1', creationTimestamp: BEFORE };
  return { apiVersion: 'coppice.dev/v1', kind: 'Volume', metadata, spec: { size } };
}

const HOURS = (start: string, duration: string, replicas: number) => [
  { name: 'hours', start, duration, replicas, timeZone: 'UTC' },
];

interface Wish {
  readonly macs?: readonly Host[];
  readonly hidden?: boolean;
  readonly leases?: readonly Lease[];
  readonly others?: readonly (readonly [refs.Ref<KubeObject>, KubeObject])[];
  readonly tenant?: Tenant;
  readonly minLeaseHours?: number;
}

/** What changes cost: an hour, at once, from when, each line; the bound of an amount before it. */
function costs(changes: readonly ObjectChange[], wish: Wish = {}) {
  const world = new World();
  const put = (ref: refs.Ref<KubeObject>, object: KubeObject) => world.set(ref, objectKey(object.metadata), object, 1);
  put(refs.PRICE_LISTS, PRICES);
  put(refs.POLICIES, aPolicy({ minLeaseHours: wish.minLeaseHours ?? 24 }));
  put(refs.TENANTS, wish.tenant ?? aTenant('red'));
  put(refs.IMAGES, anImage());
  put(refs.IMAGES, anImage({ name: 'mac', guestOS: 'macos' }));
  const macs = wish.macs ?? MACS;
  if (wish.hidden !== true) for (const mac of macs) put(refs.HOSTS, mac);
  for (const lease of wish.leases ?? []) put(refs.LEASES, lease);
  for (const [ref, object] of wish.others ?? []) put(ref, object);
  const cost = planCost(changes, { nowMs: Date.parse(NOW), world, hosts: wish.hidden === true ? undefined : macs });
  const signs = { exactly: '', atLeast: '>=', atMost: '<=', about: '~' } as const;
  return {
    lines: cost.lines.map((line) =>
      [
        `${line.kind}/${line.name}`,
        `${signs[line.bound]}${exactMoney(line.perHour)}`,
        `${signs[line.atOnceBound ?? 'exactly']}${exactMoney(line.atOnce)}`,
        ...(line.from === undefined ? [] : [line.from]),
      ].join(' '),
    ),
    sum: `${signs[cost.bound]}${exactMoney(cost.perHour)} ${signs[cost.atOnceBound]}${exactMoney(cost.atOnce)}`,
    notes: cost.lines.map(({ note }) => note).join('\n'),
    ...(cost.months.length === 0
      ? {}
      : {
          months: cost.months.map(
            ({ tenant, perMonth, bound, budget }) =>
              `${tenant} ${signs[bound]}${exactMoney(perMonth)} of ${exactMoney(budget)}`,
          ),
        }),
  };
}

const made = (after: KubeObject): ObjectChange => ({ after });
const gone = (before: KubeObject): ObjectChange => ({ before });

describe('what a plan costs', () => {
  it('is, of a lease, the price of the Mac that it gets, and its minimum at once', () => {
    assert.deepEqual(costs([made(aLease())]).lines, ['Lease/ci 0.85 20.4']);
    assert.deepEqual(costs([made(aLease({ spec: { minVCPUs: 12 } }))]).lines, ['Lease/ci 2.1 50.4']);
    assert.deepEqual(costs([made(aLease())], { minLeaseHours: 72 }).lines, ['Lease/ci 0.85 61.2']);
    assert.deepEqual(costs([made(aLease())], { minLeaseHours: 1 }).lines, ['Lease/ci 0.85 20.4']);
  });

  it('gives each lease a Mac of its own', () => {
    const three = ['a', 'b', 'c'].map((name) => made(aLease({ name })));
    assert.deepEqual(costs(three), {
      lines: ['Lease/a 0.85 20.4', 'Lease/b 0.85 20.4', 'Lease/c 2.1 50.4'],
      sum: '3.8 91.2',
      notes: 'mini-1: 24 h at 0.85 at least\nmini-2: 24 h at 0.85 at least\nstudio: 24 h at 2.1 at least',
    });
  });

  it('is the least that can be where there is no Mac for it, or none to be seen', () => {
    const large = costs([made(aLease({ spec: { minVCPUs: 32 } }))]);
    assert.deepEqual(large.lines, ['Lease/ci >=0 0']);
    assert.equal(
      large.notes,
      'waits, at no cost (3 hosts: 3 with too few vCPUs (the largest has 16, needs 32)); from its grant on 24 h at 0.6 or more',
    );
    const hidden = costs([made(aLease({ spec: { minVCPUs: 16, minMemory: '64Gi' } }))], { hidden: true });
    assert.deepEqual(hidden.lines, ['Lease/ci >=2.1 >=50.4']);
    assert.deepEqual(costs([made(aLease())], { hidden: true }).lines, ['Lease/ci >=0.6 >=14.4']);
    const poor = costs([made(aLease({ name: 'a' })), made(aLease({ name: 'b' }))], {
      tenant: aTenant('red', { quota: { maxLeasedHosts: 1 } }),
    });
    assert.deepEqual(poor.lines, ['Lease/a 0.85 20.4', 'Lease/b 0 0']);
    assert.match(poor.notes, /is not made \(exceeded quota: maxLeasedHosts: requested 1, used 1, limited 1/);
  });

  it('does not count again what is held: a Mac whose lease was deleted is taken over at its price', () => {
    const held = costs([made(aLease())], { macs: [claimed(MACS[2] as Host, { released: true, earliestEnd: LATER })] });
    assert.deepEqual(held.lines, ['Lease/ci 0.7 0']);
    assert.equal(held.notes, `takes over studio, which is held and paid for until ${LATER}: nothing is owed anew`);
  });

  it('is saved from the end of the minimum on, when a lease goes', () => {
    assert.deepEqual(costs([gone(granted('ci', LATER, '0.70'))]).lines, [`Lease/ci -0.7 0 ${LATER}`]);
    assert.deepEqual(costs([gone(granted('ci', BEFORE))]).lines, ['Lease/ci -0.85 0']);
    assert.deepEqual(costs([gone(aLease())]).lines, [], 'it has no Mac yet');
  });

  it('tells of an end that is moved', () => {
    const before = granted('ci', LATER);
    const ending = { ...before, status: { ...before.status, endsAt: '2026-03-05T00:00:00Z' } };
    assert.deepEqual(costs([{ before, after: ending }]).lines, ['Lease/ci -0.85 0 2026-03-05T00:00:00Z']);
    assert.deepEqual(costs([{ before: ending, after: before }]).lines, ['Lease/ci 0.85 0 2026-03-05T00:00:00Z']);
    assert.deepEqual(costs([{ before, after: before }]).lines, []);
  });

  describe('of a LeaseSet', () => {
    it('is the minimum of those that are made now, and an average of weeks', () => {
      assert.deepEqual(costs([made(aSet(2))]).lines, ['LeaseSet/set 1.7 40.8']);
      assert.deepEqual(costs([made(aSet(3))]).lines, ['LeaseSet/set 3.8 91.2']);
      const weekend = costs([made(aSet(0, { schedules: HOURS('0 20 * * 5', '42h', 1) }))]);
      assert.deepEqual(weekend.lines, ['LeaseSet/set >=0.2125 0']);
      assert.equal(weekend.notes, '0 now, 1 at most; 42 h × 0.85 / 168 h a week; a Mac that fits costs 0.85 to 2.1');
      const now = costs([made(aSet(0, { schedules: HOURS('0 20 * * 1', '42h', 1) }))]);
      assert.deepEqual(now.lines, ['LeaseSet/set >=0.2125 20.4'], 'it begins with one');
    });

    it('counts the leases it has once', () => {
      const members = [granted('set-a', LATER, '0.70', 'set'), granted('set-b', BEFORE, '0.70', 'set')];
      const leases = [...members, granted('other', LATER)];
      const more = costs([{ before: aSet(2), after: aSet(3) }], { leases });
      assert.deepEqual(more.lines, ['LeaseSet/set 0.85 20.4']);
      assert.deepEqual(costs([{ before: aSet(2), after: aSet(2) }], { leases }).lines, []);
    });

    it('takes back what a set of its name left behind', () => {
      const { ownerReferences: _, ...metadata } = granted('set-a', LATER, '0.70', 'set').metadata;
      const left = { ...granted('set-a', LATER, '0.70'), metadata };
      const again = { ...aSet(1), metadata: { ...aSet(1).metadata, uid: 'another' } };
      assert.deepEqual(costs([made(again)], { leases: [left] }).lines, ['LeaseSet/set 0.7 0']);
      const others = granted('set-a', LATER, '0.70', 'set');
      assert.deepEqual(costs([made(again)], { leases: [others] }).lines, ['LeaseSet/set 0.85 20.4']);
    });

    it('makes no more than the quota has room for, and costs no more', () => {
      const tenant = aTenant('red', { quota: { maxLeasedHosts: 3 } });
      const leases = [granted('a', LATER), granted('b', LATER)];
      const held = claimed(MACS[2] as Host, { released: true, earliestEnd: LATER });
      const wish = { tenant, leases, macs: [...MACS.slice(0, 2), held] };
      const more = costs([made(aSet(3))], wish);
      assert.deepEqual(more.lines, ['LeaseSet/set 0.7 0']);
      assert.match(
        more.notes,
        /^3 at all times, but no more than 1 by the quota; takes over, paid for already: studio/,
      );
      assert.match(more.notes, /; 2 not made \(exceeded quota: maxLeasedHosts: requested 1, used 3, limited 3 /);
      const window = costs([made(aSet(0, { schedules: HOURS('0 20 * * 5', '42h', 3) }))], wish);
      assert.deepEqual(window.lines, ['LeaseSet/set >=0.2125 0'], '42 hours of one, not of three');
    });

    it('owes nothing while it waits for a machine that is not there', () => {
      const large = { template: { spec: { minVCPUs: 64, releasePolicy: 'WhenAllowed' as const } } };
      assert.deepEqual(costs([made(aSet(2, large))]).lines, ['LeaseSet/set >=0 0']);
      const window = costs([made(aSet(0, { ...large, schedules: HOURS('0 20 * * 5', '42h', 1) }))]);
      assert.deepEqual(window.lines, ['LeaseSet/set >=0 0']);
      assert.match(window.notes, /no machine fits: at no cost before one does, then 0.6 or more/);
    });

    it('has one price, whatever else is in the plan and in which order; to take it back comes to nothing', () => {
      const [set, lease] = [aSet(0, { schedules: HOURS('0 20 * * 5', '42h', 1) }), aLease({ name: 'zz' })];
      const forth = costs([made(set), made(lease), made(aLease({ name: 'aa' }))]);
      assert.deepEqual(costs([made(aLease({ name: 'aa' })), made(lease), made(set)]), forth);
      assert.ok(forth.lines.includes('LeaseSet/set >=0.2125 0'));
      assert.deepEqual(costs([gone(set)]).lines, ['LeaseSet/set <=-0.2125 0']);
      const taken = MACS.map((mac) => claimed(mac, { namespace: 'blue' }));
      assert.deepEqual(costs([gone(set)], { macs: taken }).lines, ['LeaseSet/set <=-0.2125 0']);
    });

    it('changes by the hours that are changed, and not with its labels', () => {
      const set = (replicas: number) => aSet(1, { schedules: HOURS('0 7 * * 1-5', '12h', replicas) });
      const leases = [granted('set-a', LATER, '0.85', 'set'), granted('set-b', LATER, '0.85', 'set')];
      const more = costs([{ before: set(2), after: set(3) }], { leases });
      assert.deepEqual(more.lines, ['LeaseSet/set >=0.485715 0']);
      assert.match(more.notes, /\(324 h × 0.85 - 228 h × 0.85\) \/ 168 h a week; a Mac that fits costs 0.85 to 2.1$/);
      const named = { ...set(2), metadata: { ...set(2).metadata, labels: { team: 'x' } } };
      assert.deepEqual(costs([{ before: set(2), after: named }], { leases }).lines, []);
    });

    it('saves from when its leases may go', () => {
      const leases = [granted('set-a', LATER, '0.70', 'set'), granted('set-b', BEFORE, '0.70', 'set')];
      const fewer = costs([{ before: aSet(2), after: aSet(1) }], { leases });
      assert.deepEqual(fewer.lines, ['LeaseSet/set -0.7 0']);
      assert.match(fewer.notes, /1 lease to go, at 0.7, when the minimum is over: now$/);
      const none = costs([{ before: aSet(2), after: aSet(0) }], { leases });
      assert.deepEqual(none.lines, [`LeaseSet/set -1.4 0 ${LATER}`]);
      assert.deepEqual(costs([gone(aSet(2))], { leases }).lines, [`LeaseSet/set -1.4 0 ${LATER}`]);
    });
  });

  describe('of guests', () => {
    // 0.01 + 2 × 0.02 + 4 × 0.005
    it('is that of each on hosts that nobody leases', () => {
      assert.deepEqual(costs([made(aPool(3))]).lines, ['Pool/pool 0.21 0']);
      assert.deepEqual(costs([{ before: aPool(3), after: aPool(1) }]).lines, ['Pool/pool -0.14 0']);
      assert.deepEqual(costs([made(aPool(2, { size: { vcpus: 1, memory: '512Mi' } }))]).lines, ['Pool/pool 0.065 0']);
      assert.deepEqual(costs([made(aPool(0, { schedules: HOURS('0 8 * * 1-5', '12h', 7) }))]).lines, [
        'Pool/pool 0.175 0',
      ]);
      assert.deepEqual(costs([made(aVM())]).lines, ['VM/web 0.07 0']);
      assert.deepEqual(costs([{ before: aVM(), after: aVM({ spec: { power: 'Stopped' } }) }]).lines, [
        'VM/web -0.07 0',
      ]);
    });

    it('is that of as many as the quota has room for, and can be checked by hand', () => {
      const tenant = aTenant('red', { quota: { maxVCPUs: 5 } });
      const pool = costs([made(aPool(3))], { tenant });
      assert.deepEqual(pool.lines, ['Pool/pool 0.14 0']);
      assert.match(pool.notes, /^336 h × 0.07 \/ 168 h a week; 3 now, 3 at most, but no more than 2 by the quota;/);
      assert.match(costs([{ before: aPool(3), after: aPool(1) }]).notes, /^\(168 h × 0.07 - 504 h × 0.07\) \/ 168 h/);
    });

    it('is nothing on Macs that their tenant leases, and at most that where it may be one or the other', () => {
      const macos = costs([made(aPool(2, { image: 'mac' }))]);
      assert.deepEqual(macos.lines, ['Pool/pool 0 0']);
      assert.match(macos.notes, /on Macs that red leases: paid for with the lease/);
      assert.deepEqual(costs([made(aPool(1)), made(aLease())]).lines, ['Lease/ci 0.85 20.4', 'Pool/pool <=0.07 0']);
      assert.deepEqual(costs([made(aPool(1))], { leases: [granted('ci', LATER)] }).lines, ['Pool/pool <=0.07 0']);
      const there = aVM({ spec: { hostName: 'host-of-ci' } });
      assert.deepEqual(costs([gone(there)], { leases: [granted('ci', LATER)] }).sum, '0 0');
    });

    it('is for whoever takes a member, of a shared pool', () => {
      const shared = costs([made(aPool(2, { shared: true }))]);
      assert.deepEqual(shared.lines, ['Pool/pool 0 0']);
      assert.match(shared.notes, /whoever takes a member pays/);
    });
  });

  it('is, of a volume, that of its size wherever it lies', () => {
    assert.deepEqual(costs([made(aVolume('50Gi'))]).lines, ['Volume/data 0.005 0']);
    assert.deepEqual(costs([{ before: aVolume('50Gi'), after: aVolume('80Gi') }]).lines, ['Volume/data 0.003 0']);
    assert.deepEqual(costs([gone(aVolume('50Gi'))]).lines, ['Volume/data -0.005 0']);
  });

  it('is nothing for a volume whose data is gone', () => {
    const lost: Volume = { ...aVolume('50Gi'), status: { phase: 'Lost' } };
    assert.deepEqual(costs([gone(lost)]).lines, []);
    const dearer = { ...PRICES, spec: { ...PRICES.spec, volumeGiBPerHour: '0.0002' } };
    assert.deepEqual(costs([{ before: PRICES, after: dearer }], { others: [[refs.VOLUMES, lost]] }).lines, []);
  });

  it('is, of new prices, what they change for what is there', () => {
    const dearer = { ...PRICES, spec: { ...PRICES.spec, volumeGiBPerHour: '0.0002', vmPerHour: '0.02' } };
    const others = [
      [refs.VMS, aVM({ spec: { hostName: 'mini-1' } })],
      [refs.VMS, aVM({ name: 'waits' })],
      [refs.VOLUMES, aVolume('50Gi')],
    ] as const;
    assert.deepEqual(costs([{ before: PRICES, after: dearer }], { others }).lines, ['PriceList/default 0.015 0']);
    assert.deepEqual(costs([{ before: PRICES, after: dearer }]).lines, [], 'nobody pays them');
  });

  it('is told beside the budget of a tenant, with all that it has', () => {
    const tenant: Tenant = { ...aTenant('red'), spec: { budget: { monthly: '1000' } } };
    const leases = [granted('ci', LATER, '0.60'), granted('set-a', LATER, '0.70', 'set')];
    const others = [
      [refs.LEASE_SETS, aSet(1)],
      [refs.VOLUMES, aVolume('50Gi')],
      [refs.VMS, aVM({ spec: { hostName: 'mini-1', power: 'Running' } })],
    ] as const;
    // 0.60 + 0.70 + 0.005 + 0.07, 730 hours of them, and a lease more at 0.85, as the Mac with the VM is taken.
    const wish = { tenant, leases, others };
    assert.deepEqual(costs([made(aLease({ name: 'more' }))], wish).months, ['red 1624.25 of 1000']);
    assert.deepEqual(costs([{ before: aTenant('red'), after: tenant }], wish).months, ['red 1003.75 of 1000']);
    assert.deepEqual(costs([gone(leases[0] as Lease)], wish).months, ['red 565.75 of 1000']);
    assert.equal(costs([{ before: aTenant('blue'), after: aTenant('blue') }], wish).months, undefined);
    assert.equal(costs([made(aLease({ name: 'more' }))], { ...wish, tenant: aTenant('red') }).months, undefined);
  });

  it('is saved with a tenant, but each lease once', () => {
    const leases = [granted('ci', LATER), granted('set-a', BEFORE, '0.70', 'set'), granted('else', BEFORE, '0.60')];
    const all = costs([gone(aTenant('red')), gone(leases[0] as Lease), gone(aSet(1))], { leases });
    assert.deepEqual(all.lines, [`Lease/ci -0.85 0 ${LATER}`, 'LeaseSet/set -0.7 0', 'Tenant/red -0.6 0']);
  });
});
