import assert from 'node:assert/strict';
import type { ObservedGuest } from '../../nodelet/drivers/driver.ts';
import { factOf, PLAN, wishOf } from '../../nodelet/plan.ts';
import { type Hold, vmStatus } from '../../nodelet/vm-report.ts';
import type { VM } from '../../resources/kinds/vm.ts';
import type { Condition } from '../../resources/meta/condition.ts';
import { aVM, EPOCH_START } from '../harness/builders.ts';

const NOW = Date.UTC(2026, 0, 2);

describe('vm report', () => {
  it('is Ready only when the agent has answered', () => {
    const { status, ready, agent } = report(aGuest({ agentReady: false }));
    assert.equal(status.phase, 'Running');
    assert.equal(status.agent, 'Waiting');
    assert.deepEqual([ready.status, ready.reason], ['False', 'AgentWaiting']);
    assert.deepEqual([agent.status, agent.reason], ['False', 'AgentWaiting']);
    assert.equal(report(aGuest({ agentReady: true })).ready.status, 'True');
  });

  it('is Ready without an agent when the image has none', () => {
    const { status, ready, agent } = report(aGuest({ agentReady: undefined }));
    assert.equal(status.agent, 'None');
    assert.equal(ready.status, 'True');
    assert.equal(agent.status, 'Unknown');
  });

  it('is not Ready while something is wrong with the running guest', () => {
    const { ready } = report(aGuest({ problem: { reason: 'DiskFull', message: 'no space on the disk of the host' } }));
    assert.deepEqual(
      [ready.status, ready.reason, ready.message],
      ['False', 'DiskFull', 'no space on the disk of the host'],
    );
    const lost = report(aGuest({ problem: { reason: 'AgentLost', message: 'silent for a minute' } }));
    assert.equal(lost.agent.reason, 'AgentLost');
  });

  it('tells addresses of a guest that is on, in order, and none of one that is off', () => {
    const addresses = ['10.0.0.9', '10.0.0.10'];
    assert.deepEqual(report(aGuest({ addresses })).status.addresses, ['10.0.0.10', '10.0.0.9']);
    const off = report(aGuest({ addresses, power: 'Off', stopReason: 'Crashed' }));
    assert.equal(off.status.addresses, undefined);
    assert.equal(off.status.agent, undefined);
  });

  it('tells of a guest that is stopped out of a pause as paused until it is off, for what it gave back may be another’s', () => {
    const { spec } = aVM({ spec: { hostName: 'mac-1', epoch: 1, guestID: 'g', power: 'Stopped' } });
    const told = (power: 'Paused' | 'Running'): Partial<VM> => ({
      ...{ spec, status: { phase: 'Stopping', guest: { id: 'g', power, epoch: 1 } } },
    });
    const powers = (from: 'Paused' | 'Running') =>
      (['Stopping', 'Off'] as const).map((power) => report(aGuest({ power }), told(from)).status.guest?.power);
    assert.deepEqual(powers('Paused'), ['Paused', 'Off']);
    assert.deepEqual(powers('Running'), ['Stopping', 'Off']);
  });

  it('passes on the last words of a guest that died', () => {
    const { ready } = report(aGuest({ power: 'Off', stopReason: 'Crashed', message: 'killed by signal 9' }));
    assert.match(ready.message, /^the guest died: killed by signal 9; set power to Stopped/);
  });

  it('says what speaks against the plan instead of the plan', () => {
    const hold: Hold = { phase: 'Pending', reason: 'MacSlotLimit', message: 'two run' };
    const { status, ready } = report(aGuest({ power: 'Off' }), {}, hold);
    assert.equal(status.phase, 'Pending');
    assert.deepEqual([ready.reason, ready.message], ['MacSlotLimit', 'two run']);
  });

  it('keeps conditions of others, and the time of one that does not flip', () => {
    const foreign = {
      type: 'Backup',
      status: 'True',
      reason: 'R',
      message: 'm',
      lastTransitionTime: EPOCH_START,
    } as const;
    const was = {
      type: 'Ready',
      status: 'True',
      reason: 'Old',
      message: 'm',
      lastTransitionTime: EPOCH_START,
    } as const;
    const { status, ready } = report(aGuest({}), { status: { conditions: [foreign, was] } });
    assert.ok(status.conditions?.some((condition) => condition.type === 'Backup'));
    assert.equal(ready.lastTransitionTime, EPOCH_START);
    assert.equal(ready.reason, 'Running');
  });

  it('takes Ready and the phase back from whoever spoke for it while it was not heard', () => {
    const was = {
      type: 'Ready',
      status: 'Unknown',
      reason: 'HostUnreachable',
      message: 'm',
      lastTransitionTime: EPOCH_START,
    } as const;
    const { status, ready } = report(aGuest({}), { status: { phase: 'Failed', conditions: [was] } });
    assert.deepEqual([status.phase, ready.status, ready.reason], ['Running', 'True', 'Running']);
    assert.notEqual(ready.lastTransitionTime, EPOCH_START);
  });

  it('calls a guest gone that its status told of', () => {
    const guest = { id: 'g', power: 'Running', epoch: 1 } as const;
    const { status } = report(undefined, { status: { guest } });
    assert.deepEqual(status.guest, { ...guest, power: 'Gone' });
    assert.equal(status.phase, 'Failed');
  });

  it('is the same for the same world', () => {
    const first = report(aGuest({}), {});
    const again = report(aGuest({}), { status: first.status as NonNullable<VM['status']> }, undefined, NOW + 60_000);
    assert.deepEqual(again.status, first.status);
  });
});

function report(guest: ObservedGuest | undefined, changes: Partial<VM> = {}, hold?: Hold, nowMs = NOW) {
  const vm: VM = { ...aVM({ spec: { hostName: 'mac-1', epoch: 1, guestID: 'g' } }), ...changes };
  const cell = PLAN[wishOf(vm)][factOf(guest, vm)];
  const status = vmStatus({ vm, guest, cell, hold, host: 'mac-1', hostUID: 'uid-1', nowMs });
  const find = (type: string): Condition =>
    status.conditions?.find((condition) => condition.type === type) ?? assert.fail(`no condition ${type}`);
  return { status, ready: find('Ready'), agent: find('AgentReady') };
}

function aGuest(changes: Partial<ObservedGuest>): ObservedGuest {
  return {
    id: 'g',
    label: 'red/web',
    power: 'Running',
    agentReady: true,
    guestOS: 'linux',
    vcpus: 2,
    memoryBytes: 1,
    epoch: 1,
    imageDigest: 'sha256:aa',
    startedFrom: 'cold',
    startedAt: NOW,
    addresses: [],
    ...changes,
  };
}
