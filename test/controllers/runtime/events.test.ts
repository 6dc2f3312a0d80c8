import assert from 'node:assert/strict';
import { controllerIdentity } from '../../../apiserver/auth/identity.ts';
import { ApiClient } from '../../../apiserver/client/client.ts';
import { EventRecorder } from '../../../controllers/runtime/events.ts';
import { silentLogger } from '../../../resources/ambient/log.ts';
import { Event } from '../../../resources/kinds/event.ts';
import { aHost, aVM } from '../../harness/builders.ts';
import { Fleet } from '../../harness/fleet.ts';
import { Wire } from '../../harness/wire.ts';

async function aSetup() {
  const fleet = await Fleet.start();
  await fleet.addTenant();
  const wire = new Wire(fleet.test.server.transportFor(controllerIdentity('placement')));
  const client = new ApiClient(wire.transport);
  const parts = { client, component: 'placement', instance: 'p-1', clock: fleet.clock, log: silentLogger };
  const recorder = () => new EventRecorder(parts);
  const told = () =>
    fleet
      .all<Event>(Event)
      .map((e) => `${e.metadata.namespace} ${e.involvedObject.name} ${e.message} ×${e.count}`)
      .sort();
  return { fleet, client, wire, recorder, told, [Symbol.asyncDispose]: () => fleet[Symbol.asyncDispose]() };
}

const normal = (message: string) => ({ type: 'Normal', reason: 'Said', message }) as const;

describe('the event recorder', () => {
  it('counts the same occurrence up, over restarts too, and tells different ones apart', async () => {
    await using it = await aSetup();
    const first = it.recorder();
    first.record(aVM(), normal('x'));
    first.record(aVM(), normal('x'));
    first.record(aVM(), normal('y'));
    await first.settled();
    await it.fleet.clock.advance(60_000);
    const second = it.recorder();
    second.record(aVM(), normal('x'));
    await second.settled();
    assert.deepEqual(it.told(), ['red web x ×3', 'red web y ×1']);
    const x = it.fleet.all<Event>(Event).find((e) => e.message === 'x');
    assert.deepEqual([x?.firstTimestamp, x?.lastTimestamp], ['2026-01-01T00:00:00Z', '2026-01-01T00:01:00Z']);
    assert.deepEqual([x?.reportingComponent, x?.reportingInstance], ['placement', 'p-1']);
  });

  it('puts events of objects without a namespace into default, and names none in what they are about', async () => {
    await using it = await aSetup();
    const recorder = it.recorder();
    recorder.record(aHost(), normal('up'));
    await recorder.settled();
    assert.deepEqual(it.told(), ['default mac-1 up ×1']);
    assert.equal(it.fleet.all<Event>(Event)[0]?.involvedObject.namespace, undefined);
    // What kubectl describe asks for a Host.
    const fieldSelector = 'involvedObject.kind=Host,involvedObject.name=mac-1,involvedObject.namespace=';
    const found = await it.client.resource<Event>(Event).list({ fieldSelector });
    assert.equal(found.items.length, 1);
  });

  it('lets one object have 25 at once and one more every five minutes, and others are not touched by it', async () => {
    await using it = await aSetup();
    const recorder = it.recorder();
    for (let n = 0; n < 40; n++) recorder.record(aVM(), normal(`m${n}`));
    recorder.record(aVM({ name: 'other' }), normal('quiet'));
    await recorder.settled();
    assert.equal(it.told().length, 26);
    await it.fleet.clock.advance(300_000);
    for (let n = 40; n < 45; n++) recorder.record(aVM(), normal(`m${n}`));
    await recorder.settled();
    assert.equal(it.told().length, 27);
  });

  it('drops what cannot be sent, and goes on with the next', async () => {
    await using it = await aSetup();
    let down = true;
    it.wire.answer = () => {
      if (down) throw new Error('refused');
      return undefined;
    };
    const recorder = it.recorder();
    recorder.record(aVM(), normal('lost'));
    await recorder.settled();
    down = false;
    recorder.record(aVM(), normal('kept'));
    await recorder.settled();
    assert.deepEqual(it.told(), ['red web kept ×1']);
  });

  it('keeps a bounded number waiting', async () => {
    await using it = await aSetup();
    const recorder = it.recorder();
    for (let n = 0; n < 1500; n++) recorder.record(aVM({ name: `v-${n}` }), normal('x'));
    await recorder.settled();
    assert.equal(it.told().length, 1001);
  });
});
