import assert from 'node:assert/strict';
import { lines } from '../../apiserver/client/watch.ts';
import type { App } from '../../apiserver/requests/server-request.ts';
import { CutProxy } from '../harness/cut-proxy.ts';
import { etcdForEach } from '../harness/etcd-for-each.ts';
import { pairOn } from '../harness/etcd-pair.ts';
import type { EtcdServer } from '../harness/etcd-server.ts';
import { hurried } from '../harness/hurried-clock.ts';
import { createVM, makeQuota, mostVMs, removeVM, VMS_URL } from '../harness/quota-world.ts';
import { rawRequest, send } from '../harness/raw.ts';
import { until } from '../harness/until.ts';

const EVENTS = '/api/v1/namespaces/default/events';

describe('two API servers on one etcd', () => {
  let etcd: EtcdServer;
  etcdForEach((started) => {
    etcd = started;
  });

  it('let as many VMs in together as the quota has room for, and as many again as are removed', async () => {
    await using pair = await pairOn(etcd);
    const room = 25;
    await makeQuota(pair.app(0), room);
    const burst = (name: string) =>
      Promise.all(Array.from({ length: 100 }, (_, i) => createVM(pair.app(i), `${name}-${i}`)));
    const answers = await burst('first');
    for (const { status, body, text } of answers) {
      if (status === 403) assert.equal(body.details?.causes?.[0]?.reason, 'QuotaExceeded');
      else assert.equal(status, 201, text);
    }
    assert.equal(answers.filter(({ status }) => status === 201).length, room);
    const inside = answers.flatMap(({ status, body }) => (status === 201 ? [String(body.metadata?.name)] : []));
    for (const [i, name] of inside.slice(0, 3).entries()) assert.equal((await removeVM(pair.app(i), name)).status, 200);
    const again = await Promise.all(Array.from({ length: 8 }, (_, i) => createVM(pair.app(i), `second-${i}`)));
    assert.equal(again.filter(({ status }) => status === 201).length, 3);
    assert.equal(await mostVMs(pair.stores[0]), room);
    for (const { server } of pair.tests) {
      const { world } = server.parts.cache;
      await server.parts.cache.caughtUp(AbortSignal.timeout(5_000));
      assert.deepEqual(world.tenantUse('red'), world.recount().tenantUse('red'));
    }
  });

  it('read what the other has acknowledged', async () => {
    await using pair = await pairOn(etcd);
    for (let i = 0; i < 15; i++) {
      const [here, there] = [pair.app(i), pair.app(i + 1)];
      assert.equal((await send(here, 'POST', EVENTS, { body: event(`e${i}`) })).status, 201);
      assert.equal((await send(there, 'GET', `${EVENTS}/e${i}`)).status, 200);
      assert.equal((await send(there, 'GET', EVENTS)).body.items?.length, 1);
      assert.equal((await send(there, 'POST', EVENTS, { body: event(`e${i}`) })).status, 409);
      assert.equal((await send(there, 'DELETE', `${EVENTS}/e${i}`)).status, 200);
      assert.equal((await send(here, 'GET', `${EVENTS}/e${i}`)).status, 404);
      assert.deepEqual((await send(here, 'GET', EVENTS)).body.items, []);
    }
  });

  it('tell one story to their watchers, over a restart of etcd too', async () => {
    await using pair = await pairOn(etcd);
    const from = String((await send(pair.app(0), 'GET', EVENTS)).body.metadata?.resourceVersion);
    const watches = [0, 1].map((i) => watchFrom(pair.app(i), from));
    const burst = (name: string) =>
      Promise.all(
        Array.from({ length: 20 }, (_, i) => send(pair.app(i), 'POST', EVENTS, { body: event(`${name}-${i}`) })),
      );
    await burst('before');
    await etcd.stop();
    await etcd.start();
    assert.ok((await burst('after')).every(({ status }) => status === 201));
    for (const { seen } of watches) await until('all is seen', () => seen.length === 40);
    assert.deepEqual(watches[0]?.seen, watches[1]?.seen);
    for (const watch of watches) assert.equal(await watch.stop(), 'told to');
  });

  it('go on when one comes back to compacted history: its watches end, old versions are gone, and it shows the present', async () => {
    await using proxy = await CutProxy.start(Number(new URL(etcd.endpoint).port));
    await using pair = await pairOn(etcd, { endpoints: [`127.0.0.1:${proxy.port}`] });
    const [near, far] = [pair.app(0), pair.app(1)];
    await send(near, 'POST', EVENTS, { body: event('kept') });
    await send(near, 'POST', EVENTS, { body: event('removed') });
    const from = String((await send(far, 'GET', EVENTS)).body.metadata?.resourceVersion);
    const watch = watchFrom(far, from);
    await until('it watches', () => pair.tests[1].server.parts.cache.resource('core/events').listeners === 1);
    proxy.holdAnswers();
    await send(near, 'DELETE', `${EVENTS}/removed`);
    await send(near, 'POST', EVENTS, { body: event('made') });
    const [store] = pair.stores;
    await store.compact(store.revision());
    proxy.cut();
    assert.equal(await watch.ended, 'by the server');
    assert.deepEqual(watch.seen, []);
    const again = watchFrom(far, from);
    assert.equal(await again.ended, 'by the server');
    assert.match(again.seen.join(), /^ERROR .*too old resource version/);
    const { items } = (await send(far, 'GET', EVENTS)).body;
    assert.deepEqual(
      items?.map(({ metadata }) => metadata.name),
      ['kept', 'made'],
    );
    assert.equal((await send(far, 'POST', EVENTS, { body: event('later') })).status, 201);
    assert.equal((await send(near, 'GET', `${EVENTS}/later`)).status, 200);
  });

  it('answer 503 while etcd is away, and all is well when it is back', async () => {
    await using pair = await pairOn(etcd, { clock: hurried(20) });
    await etcd.stop();
    const [read, write] = await Promise.all([
      send(pair.app(1), 'GET', VMS_URL),
      send(pair.app(1), 'POST', EVENTS, { body: event('one') }),
    ]);
    assert.deepEqual([read.status, write.status], [503, 503]);
    assert.ok(read.body.details?.retryAfterSeconds);
    await etcd.start();
    for (const store of pair.stores) await until('it is known to be back', () => store.outage() === undefined);
    assert.equal((await send(pair.app(1), 'POST', EVENTS, { body: event('one') })).status, 201);
    assert.equal((await send(pair.app(0), 'GET', `${EVENTS}/one`)).status, 200);
  });
});

const event = (name: string) => ({ metadata: { name }, involvedObject: { namespace: 'default' } });

/** What a watch of events is told, as `TYPE name`, and by whom it was ended. */
function watchFrom(app: App, version: string) {
  const seen: string[] = [];
  const ending = new AbortController();
  const ended = (async () => {
    const url = `${EVENTS}?watch=1&resourceVersion=${version}`;
    const { body } = await app(rawRequest('GET', url, { signal: ending.signal }));
    assert.ok(body !== undefined && !(body instanceof Uint8Array) && typeof body === 'object');
    for await (const line of lines(body as AsyncIterable<Uint8Array>)) {
      const { type, object } = JSON.parse(line);
      seen.push(`${type} ${object.metadata?.name ?? object.message}`);
    }
    return ending.signal.aborted ? 'told to' : 'by the server';
  })();
  const stop = () => {
    ending.abort();
    return ended;
  };
  return { seen, ended, stop };
}
