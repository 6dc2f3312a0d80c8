import assert from 'node:assert/strict';
import { summarize } from '../../../cli/actions/status.ts';
import type { KubeObject } from '../../../resources/meta/object.ts';
import { aHost, aTenant, aVM, EPOCH_START } from '../../harness/builders.ts';

const NOW = Date.parse(EPOCH_START) + 3_600_000;
const MINUTE_AGO = '2026-01-01T00:59:00Z';
const JUST_NOW = '2026-01-01T00:59:01Z';

type Phase = 'Running' | 'Stopping' | 'Stopped' | 'Failed';

function aSleeper(phase: Phase, reason: string): KubeObject {
  const ready = { type: 'Ready', status: 'False' as const, reason, message: 'm', lastTransitionTime: EPOCH_START };
  return aVM({ name: reason.toLowerCase(), spec: { power: 'Stopped' }, status: { phase, conditions: [ready] } });
}

describe('what needs a look', () => {
  it('is a VM that is to be off and is not, but not one that is', () => {
    const vms = [
      aSleeper('Running', 'StoreRolledBack'),
      aSleeper('Stopping', 'StopFailed'),
      aSleeper('Failed', 'GuestLost'),
      aSleeper('Stopped', 'Stopped'),
    ];
    const { attention } = summarize({ hosts: [], vms }, NOW);
    assert.deepEqual(
      attention.map(({ reason }) => reason),
      ['StoreRolledBack', 'StopFailed', 'GuestLost'],
    );
  });

  it('is a host that distrusts the store, though it is ready', () => {
    const host = aHost();
    const distrust = {
      type: 'StoreRolledBack',
      status: 'True' as const,
      reason: 'StoreRolledBack',
      message: 'the store is at revision 1',
      lastTransitionTime: EPOCH_START,
    };
    const told = { ...host, status: { ...host.status, conditions: [...(host.status?.conditions ?? []), distrust] } };
    const { attention, hosts } = summarize({ hosts: [told, aHost({ name: 'mac-2' })], vms: [] }, NOW);
    assert.deepEqual(attention, [
      { object: 'host/mac-1', reason: 'StoreRolledBack', message: 'the store is at revision 1' },
    ]);
    assert.equal(hosts?.ready, 2);
  });

  it('is a host that is not ready, with since when, and not one that is', () => {
    const { attention } = summarize({ hosts: [aHost({ ready: false }), aHost({ name: 'mac-2' })], vms: [] }, NOW);
    assert.deepEqual(attention, [{ object: 'host/mac-1', reason: 'Test', message: '', since: EPOCH_START }]);
  });

  it('is a VM of which nothing is known, though it is to be off', () => {
    const vm = aVM({
      spec: { power: 'Stopped' },
      status: { phase: 'Stopped', conditions: [aCondition('Ready', 'Unknown', 'HostUnreachable', JUST_NOW)] },
    });
    assert.deepEqual(reasons([vm]), ['HostUnreachable']);
  });

  it('is a host that waits for a scrub, and why', () => {
    const host = aHost();
    const waits = (status: 'True' | 'False') => {
      const pending = {
        ...aCondition('ScrubPending', status, 'ScrubFailed', JUST_NOW),
        message: 'the hook ended with 3',
      };
      const conditions = [...(host.status?.conditions ?? []), pending];
      return summarize({ hosts: [{ ...host, status: { ...host.status, conditions } }], vms: [] }, NOW).attention;
    };
    assert.deepEqual(waits('False'), []);
    assert.deepEqual(waits('True'), [
      { object: 'host/mac-1', reason: 'ScrubFailed', message: 'the hook ended with 3' },
    ]);
  });

  it('is guests on a host that no VM names', () => {
    const orphans = ['a', 'b', 'c', 'd'].map((id) => ({ id, label: `red/${id}`, power: 'Running' }));
    const withOrphans = (n: number) => {
      const host = aHost();
      return { ...host, status: { ...host.status, orphans: orphans.slice(0, n) } };
    };
    const told = (n: number) => summarize({ hosts: [withOrphans(n)], vms: [] }, NOW).attention;
    assert.deepEqual(told(0), []);
    assert.equal(told(1)[0]?.message, '1 guest that no VM names: red/a');
    assert.deepEqual(told(4), [
      { object: 'host/mac-1', reason: 'Orphans', message: '4 guests that no VM names: red/a, red/b, red/c, …' },
    ]);
  });

  it('is a tenant that holds more than its quota, its own or that of the policy', () => {
    const used = { vms: 3, vcpus: 6, memory: '12Gi', leasedHosts: 2 };
    const told = (quota: object, defaultQuota?: object) => {
      const tenant = { ...aTenant('red', { quota }), status: { used } };
      const policy = { ...aTenant('default'), spec: { defaultQuota } };
      return summarize({ hosts: [], vms: [], tenants: [tenant], policies: [policy] }, NOW).attention;
    };
    assert.deepEqual(told({ maxVMs: 3, maxVCPUs: 6, maxMemory: '12Gi' }), []);
    assert.deepEqual(told({}), []);
    assert.deepEqual(told({ maxVMs: 2, maxMemory: '8192Mi' }), [
      { object: 'tenant/red', reason: 'OverQuota', message: 'holds 3 of 2 VMs, 12Gi of 8192Mi memory' },
    ]);
    assert.equal(told({}, { maxVCPUs: 4 })[0]?.message, 'holds 6 of 4 vCPUs');
    assert.deepEqual(told({ maxVCPUs: 6 }, { maxVCPUs: 4 }), []);
    assert.equal(told({ maxLeasedHosts: 1 })[0]?.message, 'holds 2 of 1 leased hosts');
  });

  it('is not a VM that merely starts, until it has for a minute', () => {
    for (const reason of ['AgentWaiting', 'Creating']) {
      const starting = (since: string, startedAt?: string) =>
        aVM({ status: { conditions: [aCondition('Ready', 'False', reason, since)], ...(startedAt && { startedAt }) } });
      assert.deepEqual(reasons([starting(JUST_NOW)]), []);
      assert.deepEqual(reasons([starting(EPOCH_START, JUST_NOW)]), []);
      assert.deepEqual(reasons([starting(MINUTE_AGO, MINUTE_AGO)]), [reason]);
    }
    const broken = aVM({ status: { conditions: [aCondition('Ready', 'False', 'GuestCrashed', JUST_NOW)] } });
    assert.deepEqual(reasons([broken]), ['GuestCrashed']);
    const placed = aCondition('Scheduled', 'False', 'InsufficientMemory', JUST_NOW);
    assert.deepEqual(reasons([aVM({ status: { conditions: [placed] } })]), ['InsufficientMemory']);
    assert.deepEqual(reasons([aVM()]), ['Unknown']);
  });
});

function reasons(vms: readonly KubeObject[]): string[] {
  return summarize({ hosts: [], vms }, NOW).attention.map(({ reason }) => reason);
}

function aCondition(type: string, status: 'True' | 'False' | 'Unknown', reason: string, lastTransitionTime: string) {
  return { type, status, reason, message: 'm', lastTransitionTime };
}
