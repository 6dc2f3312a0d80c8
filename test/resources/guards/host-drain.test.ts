import assert from 'node:assert/strict';
import { fateOf } from '../../../resources/guards/drain-fate.ts';
import { cordonedWithDrain, hostDrain } from '../../../resources/guards/host-drain.ts';
import { hostRefusal } from '../../../resources/guards/host-guard.ts';
import { leaseRefusal } from '../../../resources/guards/lease-host.ts';
import { World } from '../../../resources/guards/world.ts';
import type { Host } from '../../../resources/kinds/host.ts';
import type { VM } from '../../../resources/kinds/vm.ts';
import { AS_OPERATOR, aHost, aLease, aVM } from '../../harness/builders.ts';

type Drain = NonNullable<Host['spec']['drain']>;

const withDrain = (drain: Drain | undefined, host = aHost()): Host => ({
  ...host,
  spec: { ...host.spec, ...(drain === undefined ? {} : { drain }) },
});
const leased = aHost({ lessee: 'red' });
const refused = (before: Drain | undefined, after: Drain | undefined, host = leased) =>
  hostDrain.judge({ before: withDrain(before, host), after: withDrain(after, host) }, new World(), AS_OPERATOR)
    ?.message;

describe('the drain of a host', () => {
  it('cordons it, and taking the drain away alone does not change that', () => {
    assert.equal(cordonedWithDrain(withDrain({ mode: 'Cordon' })).spec.cordoned, true);
    assert.equal(cordonedWithDrain(withDrain({ mode: 'Cordon' }, aHost({ cordoned: false }))).spec.cordoned, true);
    const cordoned = aHost({ cordoned: true });
    assert.equal(cordonedWithDrain(cordoned), cordoned);
  });

  it('is refused on a leased host without force, in every mode, and names the lease', () => {
    for (const mode of ['Cordon', 'EvictEphemeral', 'Reschedule'] as const) {
      assert.match(
        refused(undefined, { mode }) ?? '',
        /^it is leased to red \(lease l\); .* spec\.drain\.force: coppice drain mac-1 --force$/,
      );
    }
    assert.equal(refused(undefined, { mode: 'Cordon' }, aHost()), undefined);
    assert.equal(refused(undefined, { mode: 'Cordon', force: true }), undefined);
    assert.match(refused({ mode: 'Cordon', force: true }, { mode: 'Cordon' }) ?? '', /leased to red/);
    assert.equal(refused({ mode: 'Cordon' }, { mode: 'Cordon' }), undefined, 'what is there is not judged again');
    assert.equal(refused({ mode: 'Cordon' }, undefined), undefined);
  });

  it('is judged at the same fence as a grant', () => {
    const change = { before: leased, after: withDrain({ mode: 'Cordon' }, leased) };
    assert.deepEqual(hostDrain.fences(change, new World()).bump, ['fence/host/mac-1']);
  });

  it('keeps VMs and leases off, for its own reason', () => {
    const host = cordonedWithDrain(
      withDrain({ mode: 'Cordon' }, { ...aHost(), status: { ...aHost().status, os: 'darwin' } }),
    );
    const vm = aVM();
    const resolved = vm.spec.resolved ?? assert.fail();
    assert.equal(hostRefusal({ vm, resolved }, host, new World())?.filter, 'Draining');
    assert.equal(leaseRefusal(aLease(), host, new World())?.filter, 'Draining');
  });

  const cases: readonly [string, Partial<VM['spec']>, Record<string, string>, string][] = [
    ['one like others', {}, {}, 'keep keep keep'],
    ['one with a ttl', { ttl: '8h' }, {}, 'keep evict evict'],
    ['one that says so', {}, { 'coppice.dev/ephemeral': 'true' }, 'keep evict evict'],
    ['one that says no', {}, { 'coppice.dev/ephemeral': 'false' }, 'keep keep keep'],
    ['one that may be moved', { reschedulable: true }, {}, 'keep keep move'],
    ['one that may be moved and ends by itself', { reschedulable: true, ttl: '8h' }, {}, 'keep evict move'],
    ['a warm one of a pool', { claimable: true }, {}, 'keep evict evict'],
    ['one that stands in for another', { standsInFor: { name: 'a', uid: 'a' } }, {}, 'evict evict evict'],
  ];
  for (const [what, spec, labels, fates] of cases) {
    it(`means for ${what}, by mode: ${fates}`, () => {
      const made = aVM({ spec });
      const vm = { ...made, metadata: { ...made.metadata, labels } };
      assert.equal(
        (['Cordon', 'EvictEphemeral', 'Reschedule'] as const).map((mode) => fateOf(vm, mode)).join(' '),
        fates,
      );
    });
  }
});
