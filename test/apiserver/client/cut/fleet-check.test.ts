import assert from 'node:assert/strict';
import { FleetCheck } from '../../../../apiserver/client/cut/fleet-check.ts';
import { ManualClock } from '../../../../resources/ambient/manual-clock.ts';
import { LEASE_SET_DUTY } from '../../../../resources/guards/lease-set.ts';
import { INVARIANTS } from '../../../../resources/invariants/all-invariants.ts';
import type { Violation } from '../../../../resources/invariants/fleet-checker.ts';
import { FleetState } from '../../../../resources/invariants/fleet-state.ts';
import { WATCHED } from '../../../../resources/invariants/watched.ts';
import type { VM } from '../../../../resources/kinds/vm.ts';
import type { KubeObject } from '../../../../resources/meta/object.ts';
import { objectKey } from '../../../../resources/meta/object.ts';
import { resourceId } from '../../../../resources/meta/resource-id.ts';
import { aVolume } from '../../../builders/volume.ts';
import { aHost, aTenant, aVM } from '../../../harness/builders.ts';
import { eventually } from '../../../harness/eventually.ts';
import { putUnguarded } from '../../../harness/put-unguarded.ts';
import { startTestServer, type TestServer } from '../../../harness/server.ts';
import {
  A_DAY_LATER,
  aLease,
  aSet,
  bound,
  drained,
  GRANTED,
  guest,
  host,
  leased,
  mac,
  ofSet,
  pending,
  resolved,
  waits,
} from '../../../resources/invariants/crafted-objects.ts';

const refOf = (object: KubeObject) => {
  const ref = WATCHED.find(({ kind }) => kind === object.kind);
  assert.ok(ref !== undefined, object.kind);
  return ref;
};

/** What there is, what is done to it in one transaction, and the words of what that breaks. */
interface Break {
  readonly there: readonly KubeObject[];
  readonly put?: readonly KubeObject[];
  readonly removed?: readonly KubeObject[];
  readonly waitMs?: number;
  readonly says: string;
}

const running = bound('a', { guestID: 'g' }, 'red', { phase: 'Running', guest: guest('g', 'Running') });
const withData = (name: string, more: Partial<VM['spec']> = {}) =>
  bound(name, { volumes: [{ name: 'data' }], ...more });
const releasedBy = (by: string) => {
  const lease = ofSet(aLease());
  return { ...lease, spec: { ...lease.spec, release: { by, requestedAt: GRANTED } } };
};
const BREAKS: Readonly<Record<string, Break>> = {
  'one-lease-per-host': {
    there: [leased(), aLease()],
    put: [pending('True', A_DAY_LATER)],
    says: 'lease/red/ci is Active on host mac-1, which says it is not leased',
  },
  'lessee-alone': {
    there: [leased(), aLease()],
    put: [bound('web', {}, 'blue')],
    says: 'vm/blue/web is bound to host mac-1, which is leased to red by lease ci',
  },
  'two-macos-guests': {
    there: [host(), mac('a'), mac('b')],
    put: [mac('c')],
    says: 'host mac-1 has 3 macOS guests, and may have 2: vm/red/a, vm/red/b, vm/red/c',
  },
  'within-allocatable': {
    there: [host(), bound('a', { resolved: resolved({ memory: '12Gi' }) })],
    put: [bound('b', { resolved: resolved({ memory: '5Gi' }) })],
    says: 'host mac-1 can allocate 16Gi, and 17Gi memory are assigned: vm/red/a, vm/red/b',
  },
  'within-quota': {
    there: [aTenant('red', { quota: { maxVMs: 1 } }), aVM({ name: 'a' })],
    put: [aVM({ name: 'b' })],
    says: 'tenant red holds 2 of maxVMs 1 since vm/red/b',
  },
  'lease-minimum': {
    there: [leased(), aLease()],
    put: [
      pending('True', A_DAY_LATER),
      aLease({ status: { phase: 'Ended', endedAt: '2026-01-01T10:00:00Z', billedUntil: A_DAY_LATER } }),
    ],
    says: 'lease/red/ci has ended after 10h of at least 24h, from 2026-01-01T00:00:00Z to 2026-01-01T10:00:00Z, and no operator forced it',
  },
  'set-within-wanted': {
    there: [aSet({ replicas: 1 }), waits('a')],
    put: [waits('b')],
    says: 'leaseset/red/ci wants 1 at most, and has 2 leases since lease/red/b',
  },
  'set-keeps-paid': {
    there: [leased(ofSet(aLease())), aSet(), ofSet(aLease())],
    put: [releasedBy(LEASE_SET_DUTY)],
    says: `lease/red/ci was released by its set at ${GRANTED}, and its minimum is over at ${A_DAY_LATER}`,
  },
  'scrub-before-free': {
    there: [pending('True', GRANTED)],
    put: [pending('False', A_DAY_LATER)],
    says: 'host mac-1 does not wait for a scrub any more, and its last one is none',
  },
  'every-guest-named': {
    there: [host(), running],
    removed: [running],
    waitMs: 120_000,
    says: 'guest g of host mac-1 has had no VM since vm/red/a went, and is not reported as an orphan',
  },
  'guest-claimed-once': {
    there: [host(), aVM({ name: 'a' })],
    put: [bound('a', { guestID: 'g' })],
    says: 'vm/red/a took guest g, which no member of a pool gave up',
  },
  'running-has-guest': {
    there: [host(), running],
    put: [bound('a', { guestID: 'g' }, 'red', { phase: 'Running', guest: guest('g', 'Off') })],
    waitMs: 120_000,
    says: 'vm/red/a is Running, and its guest g on host mac-1 is Off',
  },
  'draining-takes-none': {
    there: [drained(), running],
    put: [bound('b')],
    says: 'vm/red/b is bound to host mac-1, which is drained (Cordon)',
  },
  'moves-with-guest': {
    there: [host(), host({}, 'mac-2'), running],
    put: [bound('a', { guestID: 'g', hostName: 'mac-2' }, 'red', { phase: 'Running', guest: guest('g', 'Running') })],
    says: 'vm/red/a went from binding 0 to 0 (host mac-1 to mac-2)',
  },
  'one-vm-per-volume': {
    there: [host(), aVolume(), withData('a')],
    put: [withData('b')],
    says: 'volume/red/data is that of vm/red/a and vm/red/b',
  },
  'volume-on-its-host': {
    there: [host(), host({}, 'mac-2'), aVolume()],
    put: [withData('a', { hostName: 'mac-2' })],
    says: 'vm/red/a was bound to host mac-2, and its volume data lies on mac-1',
  },
};
describe('the check of a fleet', () => {
  let clock: ManualClock;
  let test: TestServer;
  let violations: Violation[];
  let stop: AbortController;
  let check: FleetCheck;
  let ended: Promise<void> | undefined;

  const begin = async (...there: readonly KubeObject[]) => {
    await putUnguarded(test, ...there.map((object) => ({ ref: refOf(object), object })));
    ended = check.run(stop.signal);
    await eventually(clock, 'it has begun', () => check.figures.to > 0);
  };
  /** Judged up to here. */
  const judged = async () => {
    let done = false;
    const caughtUp = check.caughtUp(stop.signal).then(() => {
      done = true;
    });
    await eventually(clock, 'it has caught up', () => done);
    await caughtUp;
  };
  const said = () => violations.map(({ invariant, message }) => `${invariant}: ${message}`);

  beforeEach(async () => {
    clock = new ManualClock(Date.parse(GRANTED));
    test = await startTestServer({ clock });
    violations = [];
    stop = new AbortController();
    const listener = { violation: (violation: Violation) => violations.push(violation) };
    check = new FleetCheck({ client: test.client, clock, random: () => 0, listener });
    ended = undefined;
  });
  afterEach(async () => {
    stop.abort();
    await ended;
    await test[Symbol.asyncDispose]();
  });

  for (const { name } of INVARIANTS) {
    it(`sees ${name} broken by hand in a real store, and nothing else`, async () => {
      const { there, put = [], removed = [], waitMs = 0, says } = BREAKS[name] ?? assert.fail(`nobody breaks ${name}`);
      await begin(...there);
      await judged();
      assert.deepEqual(said(), []);
      const writes = put.map((object) => ({ ref: refOf(object), object }));
      await putUnguarded(test, ...writes, ...removed.map((object) => ({ ref: refOf(object), object, removed: true })));
      await judged();
      await clock.advance(waitMs);
      // Time is judged when the store moves, as that of a fleet does by its heartbeats.
      await putUnguarded(test, { ref: refOf(aTenant('other')), object: aTenant('other') });
      await judged();
      assert.deepEqual(said(), [`${name}: ${says}`]);
      assert.ok((violations[0]?.revision ?? 0) > check.figures.from);
      assert.equal(check.figures.violations, 1);
    });
  }

  it('judges what there is, once', async () => {
    const [web] = [bound('web', {}, 'blue')];
    for (const object of [leased(), aLease(), web]) await putUnguarded(test, { ref: refOf(object), object });
    await check.once(stop.signal);
    assert.deepEqual(said(), ['lessee-alone: vm/blue/web is bound to host mac-1, which is leased to red by lease ci']);
    const { from, to, judged: revisions, objects } = check.figures;
    assert.deepEqual([from, to, revisions], [test.store.revision(), test.store.revision(), 1]);
    assert.ok(objects >= 3);
  });

  it('finds nothing wrong with a fleet in which nothing is', async () => {
    const ready = aHost();
    await begin(aTenant('red', { quota: { maxVMs: 2 } }), ready);
    for (const name of ['a', 'b']) {
      const vm = aVM({ name });
      await putUnguarded(test, { ref: refOf(vm), object: vm });
      await putUnguarded(test, { ref: refOf(vm), object: bound(name) });
    }
    await judged();
    assert.deepEqual(said(), []);
    assert.equal(check.figures.judged, 5);
  });

  it('keeps every resource that it watches', () => {
    const state = new FleetState();
    for (const object of [aTenant(), host(), aLease(), aVM()]) {
      const [resource, key] = [resourceId(refOf(object)), objectKey(object.metadata)];
      state.apply([{ resource, key, before: undefined, after: object }]);
      assert.equal(state.get(resource, key), object, resource);
    }
    assert.equal(state.size, 4);
  });
});
