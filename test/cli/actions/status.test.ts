import assert from 'node:assert/strict';
import { summarize } from '../../../cli/actions/status.ts';
import type { KubeObject } from '../../../resources/meta/object.ts';
import { aHost, aVM, EPOCH_START } from '../../harness/builders.ts';

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
    const { attention } = summarize([], vms);
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
    const { attention, hosts } = summarize([told, aHost({ name: 'mac-2' })], []);
    assert.deepEqual(attention, [
      { object: 'host/mac-1', reason: 'StoreRolledBack', message: 'the store is at revision 1' },
    ]);
    assert.equal(hosts?.ready, 2);
  });
});
