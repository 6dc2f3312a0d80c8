import assert from 'node:assert/strict';
import { hostConditions } from '../../../controllers/host-liveness/decide.ts';
import { decideVM, type VMDecision } from '../../../controllers/host-liveness/decide-vm.ts';
import type { CoordinationLease } from '../../../resources/kinds/coordination-lease.ts';
import type { Host } from '../../../resources/kinds/host.ts';
import type { VM } from '../../../resources/kinds/vm.ts';
import { aHost, aVM, EPOCH_START } from '../../harness/builders.ts';

const T0 = Date.parse(EPOCH_START);
const HEARD = '2025-12-31T23:00:00Z';

const LEASE: CoordinationLease = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'host-mac-4', uid: 'l', resourceVersion: '1', creationTimestamp: EPOCH_START },
  spec: { renewTime: HEARD },
};

function judged(verdict: 'alive' | 'unsure' | 'silent', host = aHost({ name: 'mac-4' })): Host {
  return { ...host, status: { ...host.status, conditions: hostConditions(host, verdict, LEASE, T0) } };
}

const bound = aVM({
  spec: { hostName: 'mac-4', epoch: 1 },
  status: {
    phase: 'Running',
    conditions: [
      { type: 'AgentReady', status: 'True', reason: 'A', message: '', lastTransitionTime: EPOCH_START },
      { type: 'Ready', status: 'True', reason: 'Running', message: '', lastTransitionTime: EPOCH_START },
    ],
  },
});
const lost: VM = {
  ...bound,
  status: {
    phase: 'Failed',
    conditions: [{ type: 'Ready', status: 'False', reason: 'HostLost', message: 'm', lastTransitionTime: EPOCH_START }],
  },
};
const leaving: VM = { ...bound, metadata: { ...bound.metadata, deletionTimestamp: EPOCH_START } };

/** One line of what is decided: the kind, the phase if it is set, and Ready. */
function told(decision: VMDecision): string {
  if (decision.kind === 'nothing') return 'nothing';
  const { phase, conditions } = decision.status;
  const ready = conditions?.find(({ type }) => type === 'Ready');
  const words = [decision.kind, ...(phase === undefined ? [] : [phase]), ready?.status, ready?.reason];
  return `${words.join(' ')}: ${ready?.message}`;
}

describe('what is told of a VM whose nodelet may not be heard', () => {
  const unheard = { ...aHost({ name: 'mac-4' }), status: {} };
  const gone = 'host mac-4 was forgotten, and its guests given up with it; delete the VM';
  const cases: readonly [string, VM, Host | undefined, CoordinationLease | undefined, string][] = [
    ['nothing while its host is heard', bound, judged('alive'), LEASE, 'nothing'],
    ['nothing while nobody can say yet', bound, judged('unsure'), LEASE, 'nothing'],
    ['nothing while a host that is new may still be heard', bound, judged('unsure', unheard), undefined, 'nothing'],
    ['nothing without a host', aVM(), undefined, undefined, 'nothing'],
    [
      'that nothing is known when its host is silent, and since when',
      bound,
      judged('silent'),
      LEASE,
      `tell Unknown HostUnreachable: host mac-4 has not been heard since ${HEARD}; what its guest does is not known`,
    ],
    [
      'the same of a host that never spoke',
      bound,
      judged('silent'),
      undefined,
      'tell Unknown HostUnreachable: host mac-4 has never been heard; what its guest does is not known',
    ],
    [
      'the way out when it is being deleted',
      leaving,
      judged('silent'),
      LEASE,
      `tell Unknown HostUnreachable: it is being deleted, but host mac-4 has not been heard since ${HEARD}; to give the host up: kubectl delete host mac-4`,
    ],
    [
      'that it is lost when its Host is gone',
      bound,
      undefined,
      LEASE,
      `tell-if-host-gone Failed False HostLost: ${gone}`,
    ],
    [
      'that it stays lost when a host of that name is there again',
      lost,
      judged('alive'),
      LEASE,
      `tell Failed False HostLost: ${gone}`,
    ],
    ['and when that one is silent', lost, judged('silent'), LEASE, `tell Failed False HostLost: ${gone}`],
    [
      'that it is lost when another Host has the name of the one its guest was on',
      { ...bound, status: { ...bound.status, hostUID: 'uid of before' } },
      judged('alive'),
      LEASE,
      `tell Failed False HostLost: ${gone}`,
    ],
    ['nothing of one that is let go with its Host', leaving, undefined, LEASE, 'nothing'],
  ];
  for (const [claim, vm, host, lease, expected] of cases) {
    it(claim, () => assert.equal(told(decideVM(vm, host, lease, T0)), expected));
  }

  it('keeps conditions of others, and says the same of the same world', () => {
    const first = decideVM(bound, judged('silent'), LEASE, T0 + 5_000);
    assert.ok(first.kind === 'tell');
    const others = (conditions: NonNullable<VM['status']>['conditions']) =>
      conditions?.filter(({ type }) => type !== 'Ready');
    assert.deepEqual(others(first.status.conditions), others(bound.status?.conditions));
    const after: VM = { ...bound, status: { ...bound.status, conditions: first.status.conditions ?? [] } };
    assert.deepEqual(decideVM(after, judged('silent'), LEASE, T0 + 90_000), first);
  });
});
