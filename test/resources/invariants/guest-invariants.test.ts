import assert from 'node:assert/strict';
import type { KubeObject } from '../../../resources/meta/object.ts';
import { aHost } from '../../harness/builders.ts';
import { CraftedFleet, told } from './crafted-fleet.ts';
import { bound, guest, host, leaving, mac } from './crafted-objects.ts';

const MINUTE_MS = 60_000;

describe('every-guest-named', () => {
  const running = bound('a', { guestID: 'g' }, 'red', { guest: guest('g', 'Running') });

  it('is broken when a VM goes, and its host tells of no orphan for longer than a heartbeat', () => {
    const fleet = new CraftedFleet([host(), running]);
    assert.deepEqual(fleet.remove(running), []);
    assert.deepEqual(fleet.pass(MINUTE_MS), []);
    assert.deepEqual(fleet.pass(1), [
      'every-guest-named: guest g of host mac-1 has had no VM since vm/red/a went, and is not reported as an orphan',
    ]);
    assert.deepEqual(fleet.pass(MINUTE_MS), [], 'it is told once');
  });

  it('holds when the host tells of it, is not heard, was given up, or the guest went first', () => {
    const orphans = [{ id: 'g', label: 'red/a', power: 'Running' }];
    const afterwards = (...what: readonly KubeObject[]) => {
      const fleet = new CraftedFleet([host(), running]);
      fleet.remove(running);
      for (const object of what) assert.deepEqual(fleet.put(object), []);
      return fleet.pass(2 * MINUTE_MS);
    };
    assert.deepEqual(afterwards(host({ orphans })), []);
    assert.deepEqual(afterwards(host({ orphans }), host({ orphans: [] })), []);
    assert.deepEqual(afterwards(aHost({ ready: false })), []);
    assert.deepEqual(afterwards({ ...host(), metadata: { ...host().metadata, uid: 'another' } }), []);
    assert.deepEqual(afterwards(running), []);
    const fleet = new CraftedFleet([host(), leaving(running)]);
    fleet.put(leaving({ ...running, status: { guest: guest('g', 'Gone') } }));
    fleet.remove(running);
    assert.deepEqual(fleet.pass(2 * MINUTE_MS), []);
  });

  it('is broken by a guest that two VMs name, of which none goes', () => {
    const fleet = new CraftedFleet([host(), running]);
    const copy = bound('b', { guestID: 'g' });
    assert.deepEqual(fleet.put(leaving(copy)), []);
    assert.deepEqual(fleet.put(copy), ['every-guest-named: guest g is named by 2 VMs: vm/red/a, vm/red/b']);
  });
});

describe('running-has-guest', () => {
  const runs = (power: 'Running' | 'Off' | 'Gone' | undefined) =>
    bound('a', {}, 'red', { phase: 'Running', ...(power === undefined ? {} : { guest: guest('g', power) }) });

  it('is broken when a VM is Running for longer than a heartbeat and its guest is off, gone, or was never told of', () => {
    for (const [power, why] of [
      ['Off', 'its guest g on host mac-1 is Off'],
      ['Gone', 'its guest g on host mac-1 is Gone'],
      [undefined, 'host mac-1 has told of no guest'],
    ] as const) {
      const fleet = new CraftedFleet([host(), runs('Running')]);
      assert.deepEqual(fleet.put(runs(power)), []);
      assert.deepEqual(fleet.pass(MINUTE_MS), []);
      assert.deepEqual(fleet.pass(1), [`running-has-guest: vm/red/a is Running, and ${why}`]);
    }
  });

  it('is broken when its host is gone for as long, and holds while it is only silent', () => {
    const fleet = new CraftedFleet([host(), runs('Running')]);
    assert.deepEqual(fleet.put(aHost({ ready: false })), []);
    assert.deepEqual(fleet.pass(2 * MINUTE_MS), []);
    assert.deepEqual(fleet.remove(host()), []);
    assert.deepEqual(fleet.pass(2 * MINUTE_MS), [
      'running-has-guest: vm/red/a is Running, and host mac-1 is not there',
    ]);
  });

  it('holds when it is put right in time, and what nobody watched does not count', () => {
    const fleet = new CraftedFleet([host(), runs('Off')]);
    fleet.pause(2 * MINUTE_MS);
    assert.deepEqual(fleet.pass(MINUTE_MS), []);
    assert.deepEqual(fleet.put(runs('Running')), []);
    assert.deepEqual(fleet.pass(MINUTE_MS), []);
  });

  it('is broken when more macOS VMs are Running than their host counts', () => {
    const one = { ...mac('a'), status: { phase: 'Running' as const, guest: guest('g', 'Running') } };
    const fleet = new CraftedFleet([host({ macosSlots: { total: 2, used: 1 } }), one]);
    assert.deepEqual(fleet.put(host({ macosSlots: { total: 2, used: 0 } })), []);
    assert.deepEqual(fleet.pass(MINUTE_MS + 1), [
      'running-has-guest: host mac-1 runs 0 macOS guests, and 1 VMs are said to run there: vm/red/a',
    ]);
  });

  it('takes the instant from the object when the check begins', () => {
    const condition = {
      type: 'Ready',
      status: 'False' as const,
      reason: 'x',
      message: '',
      lastTransitionTime: '2025-12-31T23:58:00Z',
    };
    const old = { ...runs('Off'), status: { ...runs('Off').status, conditions: [condition] } };
    const seen: string[] = [];
    new CraftedFleet([host(), old], (found) => seen.push(...found.map(told)));
    assert.deepEqual(seen, ['running-has-guest: vm/red/a is Running, and its guest g on host mac-1 is Off']);
  });
});
