import assert from 'node:assert/strict';
import type { GuardContext } from '../../../resources/guards/guard.ts';
import { admitLease } from '../../../resources/guards/lease-admission.ts';
import { leaseRights } from '../../../resources/guards/lease-guards.ts';
import { LEASE_SET_DUTY } from '../../../resources/guards/lease-set.ts';
import { admitLeaseSet, leaseSetCauses, leaseSetRights } from '../../../resources/guards/lease-set-guards.ts';
import { LEASE_SETS } from '../../../resources/guards/refs.ts';
import { World } from '../../../resources/guards/world.ts';
import type { Lease } from '../../../resources/kinds/lease.ts';
import type { LeaseSet } from '../../../resources/kinds/lease-set.ts';
import { aLease } from '../../harness/builders.ts';

type Template = LeaseSet['spec']['template'];

const aSet = (name = 'ci', template: Partial<Template> = {}): LeaseSet => ({
  apiVersion: 'coppice.dev/v1',
  kind: 'LeaseSet',
  metadata: {
    name,
    namespace: 'red',
    uid: `uid-of-${name}`,
    resourceVersion: '1',
    creationTimestamp: '2026-03-01T10:00:00Z',
  },
  spec: { replicas: 1, template: { spec: { releasePolicy: 'Refuse' }, ...template } },
});

const spec = (over: Partial<Template['spec']>): Partial<Template> => ({ spec: { releasePolicy: 'Refuse', ...over } });
const by = (user: string, operator = false): GuardContext => ({
  nowMs: Date.parse('2026-03-01T10:00:00Z'),
  asker: { user, operator },
});

describe('what may be written of a set of leases', () => {
  const causes = (set: LeaseSet, previous?: LeaseSet) =>
    leaseSetCauses(set, previous).map(({ field, message }) => `${field}: ${message}`);

  it('is anything a Lease could be made from', () => {
    assert.deepEqual(causes(aSet('a'.repeat(57))), []);
    assert.deepEqual(
      causes(
        aSet('ci', {
          metadata: { labels: { 'x.y/team': 'ios' }, annotations: { A: '?' } },
          spec: { releasePolicy: 'WhenAllowed', duration: '8h' },
        }),
      ),
      [],
    );
  });

  it('is no name that is too long for those of its Leases', () => {
    const long = aSet('a'.repeat(58));
    assert.deepEqual(causes(long), [
      `metadata.name: Invalid value: "${'a'.repeat(58)}": must be no more than 57 characters, for its Leases are named after it`,
    ]);
    assert.deepEqual(causes(long, long), [], 'one that is there is not told of it at each write');
  });

  it('is no label, annotation or duration that a Lease cannot have', () => {
    const labels = { 'no spaces': 'a', team: '-', 'coppice.dev/lease-set': 'other' };
    const wrong = aSet('ci', {
      metadata: { labels, annotations: { '/': 'a', b: 'x'.repeat(256 * 1024) } },
      ...spec({ duration: '99999h' }),
    });
    const fields = causes(wrong).map((cause) => cause.split(': ')[0]);
    assert.deepEqual(
      [...new Set(fields)],
      ['spec.template.metadata.labels', 'spec.template.metadata.annotations', 'spec.template.spec.duration'],
    );
    assert.equal(fields.filter((field) => field === 'spec.template.metadata.labels').length, 3);
    assert.match(causes(wrong).at(-1) ?? '', /must be at most 10 years/);
    assert.deepEqual(causes(wrong, wrong), [], 'what stays is not judged again');
  });

  it('is no override, but for operators; one that is there is not asked for again', () => {
    const world = new World();
    for (const field of ['anyHost', 'allowBusy'] as const) {
      const [plain, wide] = [aSet(), aSet('ci', spec({ [field]: true }))];
      const judge = (before: LeaseSet | undefined, context: GuardContext) =>
        leaseSetRights.judge({ before, after: wide }, world, context);
      assert.deepEqual(judge(plain, by('ann')), {
        answer: 'Forbidden',
        cause: 'OperatorsOnly',
        message: `only operators set spec.template.spec.${field}`,
      });
      assert.notEqual(judge(undefined, by('ann')), undefined);
      assert.equal(judge(plain, by('op', true)), undefined);
      assert.equal(judge(wide, by('ann')), undefined);
    }
  });
});

describe('what a set’s Leases have of it', () => {
  const worldWith = (set: LeaseSet): World => {
    const world = new World();
    world.set(LEASE_SETS, 'red/ci', set, 1);
    return world;
  };
  const madeOf = (set: LeaseSet, over: Partial<Lease['spec']>): Lease => {
    const lease = aLease({ spec: over });
    const { apiVersion, kind, metadata } = set;
    const owner = { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true };
    return { ...lease, metadata: { ...lease.metadata, namespace: 'red', ownerReferences: [owner] } };
  };

  it('are the overrides that an operator gave it, when its duty makes them', () => {
    const set = aSet('ci', spec({ anyHost: true }));
    const judge = (lease: Lease, user: string, world = worldWith(set)) =>
      leaseRights.judge({ before: undefined, after: lease }, world, by(user));
    assert.equal(judge(madeOf(set, { anyHost: true }), LEASE_SET_DUTY), undefined);
    assert.notEqual(judge(madeOf(set, { anyHost: true }), 'ann'), undefined, 'a tenant that names it as the owner');
    assert.notEqual(judge(madeOf(set, { allowBusy: true }), LEASE_SET_DUTY), undefined, 'another override');
    assert.notEqual(judge(madeOf(set, { release: { force: true } }), LEASE_SET_DUTY), undefined);
    const gone = worldWith({ ...set, metadata: { ...set.metadata, uid: 'another' } });
    assert.notEqual(judge(madeOf(set, { anyHost: true }), LEASE_SET_DUTY, gone), undefined, 'another set of its name');
  });

  it('is who accepted terms, and when', () => {
    const accept = (version: string) => spec({ acceptedTerms: { version } });
    const context = (user: string, world = new World()) => ({ ...by(user), world });
    const set = admitLeaseSet(aSet('ci', accept('2')), undefined, context('ann'));
    assert.deepEqual(set.spec.template.spec.acceptedTerms, { version: '2', by: 'ann', at: '2026-03-01T10:00:00Z' });
    const scaled = admitLeaseSet({ ...set, spec: { ...set.spec, replicas: 9 } }, set, context('bob'));
    assert.equal(scaled.spec.template.spec.acceptedTerms?.by, 'ann', 'who scales it accepts nothing');
    const changed = admitLeaseSet(aSet('ci', accept('3')), set, context('bob'));
    assert.equal(changed.spec.template.spec.acceptedTerms?.by, 'bob');

    const lease = madeOf(set, { acceptedTerms: { version: '2' } });
    const made = admitLease(lease, undefined, {
      ...context(LEASE_SET_DUTY, worldWith(set)),
      nowMs: Date.parse('2026-03-05T10:00:00Z'),
    });
    assert.deepEqual(made.spec.acceptedTerms, { version: '2', by: 'ann', at: '2026-03-01T10:00:00Z' });
    assert.deepEqual(
      made.status?.overrides?.map(({ what, by: who }) => [what, who]),
      [['Terms', 'ann']],
    );
    const own = admitLease(lease, undefined, context('eve', worldWith(set)));
    assert.equal(own.spec.acceptedTerms?.by, 'eve', 'a Lease that somebody makes is theirs');
  });
});
