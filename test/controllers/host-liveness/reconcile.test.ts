import assert from 'node:assert/strict';
import { Event } from '../../../resources/kinds/event.ts';
import { Host } from '../../../resources/kinds/host.ts';
import { findCondition } from '../../../resources/meta/condition.ts';
import { quiesce } from '../../harness/eventually.ts';
import { Fleet } from '../../harness/fleet.ts';

const condition = (fleet: Fleet, type: string) => {
  const host = fleet.find<Host>(Host, 'mac-1');
  return host && findCondition(host, type);
};

async function later(fleet: Fleet, ms: number): Promise<string> {
  await fleet.clock.advance(ms);
  await quiesce();
  return `${condition(fleet, 'Ready')?.status} ${condition(fleet, 'Ready')?.reason}`;
}

/** As `later`, in steps that leave who leads the time to renew. */
async function stepwise(fleet: Fleet, ms: number): Promise<string> {
  for (let left = ms; left > 500; left -= 500) await later(fleet, 500);
  return later(fleet, ms % 500 === 0 ? 500 : ms % 500);
}

describe('the host-liveness duty', () => {
  it('says Ready when the nodelet is connected, Unknown 40 s after it is not, and Ready when it is back', async () => {
    await using fleet = await Fleet.start();
    await fleet.addHost({ ready: false });
    await fleet.heartbeat('mac-1');
    fleet.startControllers('host-liveness');
    await fleet.eventually('ready', () => condition(fleet, 'Ready')?.status === 'True');
    assert.equal(condition(fleet, 'Schedulable')?.status, 'True');

    await fleet.heartbeat('mac-1', null);
    assert.equal(await later(fleet, 39_999), 'True NodeletReady');
    assert.equal(await later(fleet, 1), 'Unknown NodeletSilent');
    assert.equal(condition(fleet, 'Schedulable')?.reason, 'NotReady');

    await fleet.heartbeat('mac-1');
    assert.equal(await later(fleet, 1), 'True NodeletReady');
    assert.notEqual(condition(fleet, 'DriverReady'), undefined);
    const told = () => fleet.all<Event>(Event).map((event) => `${event.type} ${event.reason} ×${event.count}`);
    await fleet.eventually('told', () => told().includes('Normal NodeletReady ×2'));
    assert.deepEqual(told().sort(), ['Normal NodeletReady ×2', 'Warning NodeletSilent ×1']);
  });

  it('gives every host a full grace period after it started, also one that was silent all along', async () => {
    await using fleet = await Fleet.start();
    await fleet.addHost({ ready: true });
    await fleet.heartbeat('mac-1', null);
    await fleet.clock.advance(600_000);
    fleet.startControllers('host-liveness');
    await fleet.eventually('seen', () => condition(fleet, 'Schedulable') !== undefined);
    assert.equal(await later(fleet, 39_000), 'True Test');
    assert.equal(await later(fleet, 2_000), 'Unknown NodeletSilent');
  });

  it('gives every host a full grace period after it was handed over, however long its heir has watched', async () => {
    await using fleet = await Fleet.start();
    await fleet.addHost({ ready: false });
    await fleet.heartbeat('mac-1');
    const first = fleet.startShared('host-liveness');
    await fleet.eventually('ready', () => condition(fleet, 'Ready')?.status === 'True');
    await using heir = fleet.startShared('host-liveness');
    await fleet.eventually('stands by', () => heir.health.member !== undefined);
    await fleet.heartbeat('mac-1', null);
    await stepwise(fleet, 39_000);
    await first[Symbol.asyncDispose]();
    await fleet.eventually('led', () => heir.led.length === 1);
    assert.equal(await stepwise(fleet, 39_000), 'True NodeletReady');
    assert.equal(await stepwise(fleet, 2_000), 'Unknown NodeletSilent');
  });

  it('closes and opens a host with its cordon', async () => {
    await using fleet = await Fleet.start();
    await fleet.addHost();
    await fleet.heartbeat('mac-1');
    fleet.startControllers('host-liveness');
    const hosts = fleet.resource<Host>(Host);
    await hosts.patch('mac-1', { spec: { cordoned: true } });
    await fleet.eventually('closed', () => condition(fleet, 'Schedulable')?.reason === 'Cordoned');
    await hosts.patch('mac-1', { spec: { cordoned: null } });
    await fleet.eventually('open', () => condition(fleet, 'Schedulable')?.status === 'True');
    assert.equal(condition(fleet, 'Ready')?.observedGeneration, fleet.find<Host>(Host, 'mac-1')?.metadata.generation);
  });
});
