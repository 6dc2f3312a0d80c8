import assert from 'node:assert/strict';
import type { GuardContext } from '../../../resources/guards/guard.ts';
import { hostFacts, hostRefusal } from '../../../resources/guards/host-guard.ts';
import { hostScrub, scrubRecords } from '../../../resources/guards/host-scrub.ts';
import { LEASES, VMS } from '../../../resources/guards/refs.ts';
import { World } from '../../../resources/guards/world.ts';
import type { Host } from '../../../resources/kinds/host.ts';
import type { Lease } from '../../../resources/kinds/lease.ts';
import type { VM } from '../../../resources/kinds/vm.ts';
import { objectKey } from '../../../resources/meta/object.ts';
import { aHost, aVM, DIGEST, EPOCH_START } from '../../harness/builders.ts';

type Scrub = NonNullable<NonNullable<Host['status']>['scrub']>;

function pending(host: Host, status: 'True' | 'False' = 'True'): Host {
  const condition = { type: 'ScrubPending', status, reason: 'r', message: '', lastTransitionTime: EPOCH_START };
  const conditions = [...(host.status?.conditions ?? []), condition];
  return { ...host, status: { ...host.status, conditions } };
}

function scrubbed(host: Host, outcome: Scrub['outcome'], more: Partial<Scrub> = {}): Host {
  return { ...host, status: { ...host.status, scrub: { requestedAt: EPOCH_START, outcome, ...more } } };
}

function aWorld(...vms: readonly VM[]): World {
  const world = new World();
  for (const vm of vms) world.set(VMS, objectKey(vm.metadata), vm, 1);
  return world;
}

const CONTEXT: GuardContext = { nowMs: Date.parse('2026-03-01T00:00:00Z'), asker: { user: 'admin', operator: true } };
const bound = aVM({ name: 'a', spec: { hostName: 'mac-1', epoch: 1 } });

describe('a host that waits for a scrub', () => {
  const wish = { vm: aVM(), resolved: { digest: DIGEST, guestOS: 'linux', vcpus: 1, memory: '1Gi' } } as const;

  it('takes no VM, and says so', () => {
    assert.deepEqual(hostRefusal(wish, pending(aHost()), aWorld()), {
      filter: 'ScrubPending',
      message: 'host mac-1 waits for a scrub',
    });
    assert.equal(hostRefusal(wish, pending(aHost(), 'False'), aWorld()), undefined);
  });

  it('is told of to whoever binds at the same moment', () => {
    const fences = (before: Host, after: Host) => hostFacts.fences({ before, after }, aWorld()).bump;
    assert.deepEqual(fences(aHost(), pending(aHost())), ['fence/host/mac-1']);
    assert.deepEqual(fences(pending(aHost()), pending(aHost(), 'False')), ['fence/host/mac-1']);
    assert.deepEqual(fences(aHost(), pending(aHost(), 'False')), []);
  });

  it('is leased to nobody', () => {
    const told = (before: Host, after: Host) =>
      hostScrub.judge({ before, after, subresource: 'status' }, aWorld(), CONTEXT);
    const leased = pending(aHost({ lessee: 'red' }));
    assert.deepEqual(told(pending(aHost()), leased), {
      answer: 'Forbidden',
      cause: 'ScrubPending',
      message: 'host mac-1 waits for a scrub; it is leased after that',
    });
    assert.deepEqual(hostScrub.fences({ before: pending(aHost()), after: leased }, aWorld()).bump, [
      'fence/host/mac-1',
    ]);
    assert.equal(told(aHost(), aHost({ lessee: 'red' })), undefined);
  });
});

describe('telling a nodelet to clear its host', () => {
  const begun = (after: Host, ...vms: readonly VM[]) => {
    const refusal = hostScrub.judge({ before: after, after: scrubbed(after, 'Running') }, aWorld(...vms), CONTEXT);
    return refusal?.answer === 'Forbidden' ? `${refusal.cause}: ${refusal.message}` : refusal;
  };

  it('needs a host that nobody leases, to which nothing is bound and nothing can come to be', () => {
    assert.equal(begun(pending(aHost())), undefined);
    assert.match(String(begun(aHost())), /^NotPending/);
    assert.match(String(begun(pending(aHost({ lessee: 'red' })))), /^Leased: it is leased to red \(lease l\)/);
    assert.equal(begun(pending(aHost()), bound), 'VMsRemain: 1 VM is bound to it (red/a)');
  });

  it('is not kept by a VM that is one in name only, nor by one elsewhere', () => {
    const gone: VM = {
      ...bound,
      metadata: { ...bound.metadata, deletionTimestamp: EPOCH_START },
      status: { guest: { id: 'g', power: 'Gone', epoch: 1 } },
    };
    assert.equal(begun(pending(aHost()), gone, aVM({ name: 'b', spec: { hostName: 'mac-2' } })), undefined);
  });

  it('is fenced, and what follows of it is not', () => {
    const running = scrubbed(pending(aHost()), 'Running');
    assert.deepEqual(hostScrub.fences({ before: pending(aHost()), after: running }, aWorld()).bump, [
      'fence/host/mac-1',
    ]);
    assert.deepEqual(hostScrub.fences({ before: running, after: running }, aWorld()).bump, []);
    assert.equal(hostScrub.judge({ before: running, after: running }, aWorld(bound), CONTEXT), undefined);
  });
});

describe('asking for a scrub', () => {
  const asks = (requestedAt: string) => {
    const before = scrubbed(aHost(), 'Refused', { requestedAt: '2026-03-01T00:00:00Z' });
    const after = { ...before, spec: { ...before.spec, scrub: { requestedAt } } };
    return hostScrub.judge({ before, after }, aWorld(), CONTEXT);
  };

  it('needs a later instant than the one that was answered, or nobody would answer it', () => {
    assert.equal(asks('2026-03-01T00:00:01Z'), undefined);
    for (const early of ['2026-03-01T00:00:00Z', '2026-02-28T00:00:00Z'])
      assert.deepEqual(asks(early), {
        ...{ answer: 'Invalid', field: 'spec.scrub.requestedAt', cause: 'FieldValueInvalid' },
        message: `Invalid value: "${early}": must be later than that of the last scrub, 2026-03-01T00:00:00Z`,
      });
  });

  it('may be for a day ahead, and not for a time that keeps all others from asking', () => {
    assert.equal(asks('2026-03-02T00:00:00Z'), undefined);
    const far = asks('9999-12-31T23:59:59Z');
    assert.match(far?.message ?? '', /must be no more than a day ahead$/);
  });

  it('again in the same words is no asking', () => {
    const host = scrubbed(aHost(), 'Refused', { requestedAt: '2026-03-01T00:00:00Z' });
    const asked = { ...host, spec: { ...host.spec, scrub: { requestedAt: '2026-03-01T00:00:00Z' } } };
    assert.equal(hostScrub.judge({ before: asked, after: asked }, aWorld(), CONTEXT), undefined);
  });
});

describe('the record of a scrub', () => {
  const aLease = (name: string, status: NonNullable<Lease['status']>): Lease => ({
    apiVersion: 'coppice.dev/v1',
    kind: 'Lease',
    metadata: { name, namespace: 'red', uid: name, resourceVersion: '1', creationTimestamp: EPOCH_START },
    spec: { releasePolicy: 'Refuse' },
    status,
  });
  const host = aHost();
  const hostUID = host.metadata.uid;
  const clearing = {
    result: 'Cleared' as const,
    at: EPOCH_START,
    guestsRemoved: 2,
    workspacesRemoved: 1,
    hook: { exitCode: 0 },
  };
  const done = scrubbed(host, 'Succeeded', { startedAt: EPOCH_START, finishedAt: EPOCH_START, forced: true, clearing });
  const records = (before: Host, after: Host, ...leases: readonly Lease[]) => {
    const world = new World();
    for (const lease of leases) world.set(LEASES, objectKey(lease.metadata), lease, 1);
    return scrubRecords(after, before, { world, ...CONTEXT });
  };

  it('is left on the leases that ended there since the scrub before', () => {
    const scrub = { requestedAt: EPOCH_START, startedAt: EPOCH_START, finishedAt: EPOCH_START };
    const written = records(
      scrubbed(host, 'Running'),
      done,
      aLease('last', { phase: 'Ended', hostUID }),
      aLease('elsewhere', { phase: 'Ended', hostUID: 'another' }),
      aLease('before', { phase: 'Ended', hostUID, scrub: { ...scrub, guestsRemoved: 0, workspacesRemoved: 0 } }),
      aLease('active', { phase: 'Active', hostUID }),
    );
    assert.deepEqual(
      written.map(({ name, object }) => [name, (object as Lease | undefined)?.status]),
      [
        [
          'last',
          {
            ...{ phase: 'Ended', hostUID },
            scrub: { ...scrub, forced: true, guestsRemoved: 2, workspacesRemoved: 1, hookExitCode: 0 },
          },
        ],
      ],
    );
  });

  it('is left by no other change', () => {
    const last = aLease('last', { phase: 'Ended', hostUID });
    assert.deepEqual(records(done, done, last), []);
    assert.deepEqual(records(scrubbed(host, 'Running'), scrubbed(host, 'Failed'), last), []);
  });
});
