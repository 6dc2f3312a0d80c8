import assert from 'node:assert/strict';
import { hostConditions } from '../../../controllers/host-liveness/decide.ts';
import type { Host } from '../../../resources/kinds/host.ts';
import { aHost, EPOCH_START } from '../../harness/builders.ts';

const UNTIL = '2026-01-02T00:00:00Z';

function told(lease: object | undefined, waits?: { readonly reason: string; readonly message: string }): string {
  const host = aHost();
  const claim = { namespace: 'red', name: 'ci', uid: 'x', since: EPOCH_START, earliestEnd: UNTIL, ...lease };
  const conditions = [
    ...(host.status?.conditions ?? []),
    { type: 'DriverReady', status: 'True', reason: 'Works', message: '', lastTransitionTime: EPOCH_START } as const,
    ...(waits === undefined
      ? []
      : [{ type: 'ScrubPending', status: 'True', lastTransitionTime: EPOCH_START, ...waits } as const]),
  ];
  const asked: Host = {
    ...host,
    status: { ...host.status, conditions, ...(lease === undefined ? {} : { lease: claim }) },
  };
  const open = hostConditions(asked, 'alive', undefined, 0).find(({ type }) => type === 'Schedulable');
  return `${open?.status} ${open?.reason}: ${open?.message}`;
}

describe('whether a host takes VMs', () => {
  it('says of a leased one whose, and until when', () => {
    assert.equal(told(undefined), 'True Open: takes new VMs');
    assert.equal(told({}), `True Leased: is leased to red, until ${UNTIL} at least, and takes its VMs`);
    assert.equal(told({ released: true }), `True Held: is held for red, until ${UNTIL} at least, and takes its VMs`);
    assert.equal(told({ ending: true }), 'False LeaseEnding: the lease of red is over');
  });

  it('says of one that waits for a scrub how it gets one, and that volumes are in its way', () => {
    const waits =
      'False ScrubPending: it waits for a scrub and takes no VM and no lease before it: coppice scrub mac-1';
    assert.equal(told(undefined, { reason: 'LeaseEnded', message: 'm' }), waits);
    assert.equal(told(undefined, { reason: 'VolumesRemain', message: 'volumes' }), `${waits}; volumes`);
  });
});
