import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigMap } from '../../../resources/kinds/config-map.ts';
import { RawWatch } from '../../harness/raw.ts';
import { listenTestServer, OPERATOR_TOKEN, startTestServer } from '../../harness/server.ts';
import { TlsWatcher } from '../../harness/tls-watcher.ts';
import { until } from '../../harness/until.ts';
import { WIDGETS, WidgetServer } from './widget-server.ts';

const MIB = 1 << 20;
const BIG = { metadata: { annotations: { big: 'x'.repeat(100_000) } } };
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';

describe('watchers that do not read', () => {
  it('are ended together when they hold too much, furthest behind first; who reads misses nothing', async () => {
    await using server = await WidgetServer.start({ unreadBytes: 2 * MIB });
    const { unread } = server.test.server.parts;
    const from = server.revision;
    const open = () => RawWatch.open(server.app, `${WIDGETS}?watch=1&resourceVersion=${server.revision}`);
    const mute = [await open(), await open()];
    await using reader = await open();
    const told: number[] = [];
    for (let i = 0; i < 60; i++) {
      if (i === 50) mute.push(await open());
      await server.make(`w${i}`, BIG);
      assert.ok(unread.bytes <= 2 * MIB, `${unread.bytes} bytes are held`);
      told.push(Number((await reader.next())?.object.metadata?.resourceVersion));
    }
    assert.deepEqual(
      told,
      told.map((_, i) => from + 1 + i),
    );
    for (const watch of mute.slice(0, 2)) {
      const events = await watch.rest();
      assert.ok(events.length < 20, `${events.length} events`);
      assert.deepEqual(
        events.map(({ object }) => Number(object.metadata?.resourceVersion)),
        events.map((_, i) => from + 1 + i),
      );
    }
    assert.equal((await mute[2]?.take(10))?.length, 10, 'one that is not far behind goes on');
    await mute[2]?.[Symbol.asyncDispose]();
    assert.equal(unread.bytes, 0);
  });

  it('are ended while they still have what there was before them, when much is written meanwhile', async function () {
    this.timeout(20_000);
    await using server = await WidgetServer.start();
    for (let i = 0; i < 10; i++) await server.make(`w${i}`, BIG);
    await using mute = await RawWatch.open(server.app, `${WIDGETS}?watch=1`);
    await mute.next();
    // Nothing that this watch is told of.
    const other = (i: number) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `c${i}`, ...BIG.metadata },
    });
    for (let i = 0; i < 340; i++) await server.ok('POST', CONFIG_MAPS, other(i));
    const events = await mute.rest();
    assert.ok(events.length < 9, `${events.length} more events`);
  });

  it('on real connections cost no more than the budget, and who reads beside them is told all', async function () {
    this.timeout(60_000);
    const folder = await mkdtemp(join(tmpdir(), 'coppice-slow-'));
    await using held = new AsyncDisposableStack();
    held.defer(() => rm(folder, { recursive: true, force: true }));
    const test = held.use(await startTestServer({ unreadBytes: 2 * MIB }));
    const listening = held.use(await listenTestServer(test, join(folder, 'pki')));
    const target = { url: listening.url, ca: listening.caCert, token: OPERATOR_TOKEN };
    const { unread, cache } = test.server.parts;
    const before = cache.resource('core/configmaps').listeners;
    const open = async () => held.use(await TlsWatcher.open(target, CONFIG_MAPS));
    const reader = await open();
    reader.read();
    const mute = await Promise.all(Array.from({ length: 8 }, open));
    await until('all watch', () => cache.resource('core/configmaps').listeners === before + 9);
    const maps = test.client.resource<ConfigMap>(ConfigMap, 'default');
    await maps.create({ metadata: { name: 'big' }, data: { text: '' } });
    let written = 1;
    for (; cache.resource('core/configmaps').listeners > before + 1 && written < 1000; written++) {
      await maps.patch('big', { data: { text: `${written}`.padStart(200_000, 'x') } });
      assert.ok(unread.bytes <= 2 * MIB, `${unread.bytes} bytes are held`);
      const read = () => reader.events === written + 1;
      await until('the one that reads is told', read);
    }
    assert.ok(written < 1000, 'they were not ended');
    for (const watcher of mute) watcher.read();
    await until('all others have come to their end', () => mute.every(({ over }) => over));
    assert.ok(mute.every(({ events }) => events < written));
  });
});
