import assert from 'node:assert/strict';
import { OPERATOR } from '../../../../apiserver/auth/identity.ts';
import { ApiClient } from '../../../../apiserver/client/client.ts';
import { type CutListener, type Gap, WatchedCut } from '../../../../apiserver/client/cut/watched-cut.ts';
import type { Transport } from '../../../../apiserver/client/transport.ts';
import { MemoryStore } from '../../../../apiserver/store/memory/store.ts';
import { ManualClock } from '../../../../resources/ambient/manual-clock.ts';
import { systemIds } from '../../../../resources/ambient/system-ids.ts';
import { WATCHED } from '../../../../resources/invariants/watched.ts';
import { Host } from '../../../../resources/kinds/host.ts';
import { Tenant } from '../../../../resources/kinds/tenant.ts';
import type { KubeObject } from '../../../../resources/meta/object.ts';
import { eventually } from '../../../harness/eventually.ts';
import { startTestServer, type TestServer } from '../../../harness/server.ts';

/** What a cut told, as text. */
class Heard implements CutListener {
  readonly lines: string[] = [];
  readonly gaps: Gap[] = [];
  readonly broken: string[] = [];
  to = 0;

  begun(objects: ReadonlyMap<string, readonly KubeObject[]>, revision: number): void {
    const names = [...objects].flatMap(([id, items]) =>
      items.map(({ metadata }) => `${id.slice('coppice.dev/'.length)}/${metadata.name}`),
    );
    this.lines.push(`begun ${names.join(' ')}`);
    this.to = revision;
  }
  step({ revision, events }: Parameters<CutListener['step']>[0]): void {
    assert.ok(revision > this.to, `${revision} after ${this.to}`);
    this.to = revision;
    const names = events.map(
      ({ resource, key, object }) =>
        `${object === undefined ? '-' : '+'}${resource.slice('coppice.dev/'.length)}/${key}`,
    );
    this.lines.push(names.join(' '));
  }
  passed(revision: number): void {
    this.to = revision;
  }
  gap(gap: Gap): void {
    this.gaps.push(gap);
  }
  broke(why: string): void {
    this.broken.push(why);
  }
}

describe('several resources watched as one', () => {
  let clock: ManualClock;
  let test: TestServer;
  let heard: Heard;
  let stop: AbortController;
  let running: Promise<void> | undefined;
  /** What is done to the requests of the cut. */
  let through: (send: Transport) => Transport;
  let mostWaiting: number | undefined;

  const begin = async () => {
    const send: Transport = (request) => through(test.server.transportFor(OPERATOR))(request);
    const cut = new WatchedCut({
      client: new ApiClient(send),
      resources: WATCHED,
      listener: heard,
      clock,
      random: () => 0,
      ...(mostWaiting === undefined ? {} : { mostWaiting }),
    });
    running = cut.run(stop.signal);
    await eventually(clock, 'it has begun', () => heard.lines.length > 0);
    return cut;
  };
  const tenant = (name: string) =>
    test.client
      .resource<Tenant>(Tenant)
      .create({ apiVersion: 'coppice.dev/v1', kind: 'Tenant', metadata: { name }, spec: {} });
  const host = (name: string) =>
    test.client
      .resource<Host>(Host)
      .create({ apiVersion: 'coppice.dev/v1', kind: 'Host', metadata: { name }, spec: { group: 'x' } });
  const hears = (line: string) =>
    eventually(clock, `it hears ${line} (${heard.lines.join(' | ')})`, () => heard.lines.includes(line));

  beforeEach(async () => {
    clock = new ManualClock();
    test = await startTestServer({ clock });
    heard = new Heard();
    stop = new AbortController();
    through = (send) => send;
    mostWaiting = undefined;
  });
  afterEach(async () => {
    stop.abort();
    await running;
    await test[Symbol.asyncDispose]();
  });

  it('begin with what there is, and go on in the order in which it was written', async () => {
    await host('a');
    await begin();
    assert.match(heard.lines[0] ?? '', /^begun .*hosts\/a/);
    for (const name of ['x', 'y', 'z']) {
      await tenant(name);
      await host(`of-${name}`);
    }
    await test.client.resource(Host).delete('of-x');
    await hears('-hosts/of-x');
    assert.deepEqual(heard.lines.slice(1), [
      '+tenants/x',
      '+hosts/of-x',
      '+tenants/y',
      '+hosts/of-y',
      '+tenants/z',
      '+hosts/of-z',
      '-hosts/of-x',
    ]);
    assert.deepEqual(heard.gaps, []);
  });

  it('go on where they were when watches break off', async () => {
    let breaks = 0;
    through = (send) => async (request) => {
      const answer = await send(request);
      if (!request.path.includes('watch=true')) return answer;
      return { ...answer, body: afterTwo(answer.body, () => breaks++) };
    };
    await begin();
    for (let i = 0; i < 10; i++) {
      await tenant(`t${i}`);
      await host(`h${i}`);
    }
    await hears('+hosts/h9');
    assert.deepEqual(
      heard.lines.slice(1),
      Array.from({ length: 10 }, (_, i) => [`+tenants/t${i}`, `+hosts/h${i}`]).flat(),
    );
    assert.ok(breaks > 10, `${breaks} breaks`);
    assert.ok(heard.broken.length > 0);
    assert.deepEqual(heard.gaps, []);
  });

  it('tell of what nobody can see any more, and begin again', async () => {
    const store = await MemoryStore.open({ ids: systemIds });
    test = await startTestServer({ clock, store, ring: { events: 3, bytes: 1 << 20 } });
    let away = false;
    through = (send) => async (request) => {
      if (away) throw new Error('away');
      const answer = await send(request);
      return request.path.includes('watch=true') ? { ...answer, body: untilAway(answer.body, () => away) } : answer;
    };
    const cut = await begin();
    await tenant('before');
    await hears('+tenants/before');
    const last = cut.revision;
    away = true;
    for (let i = 0; i < 8; i++) await host(`h${i}`);
    await store.compact(store.revision());
    await eventually(clock, 'the watches broke off', () => heard.broken.length >= WATCHED.length);
    away = false;
    await eventually(clock, 'it has begun again', () => heard.gaps.length > 0);
    assert.equal(heard.gaps.length, 1);
    const [gap] = heard.gaps;
    assert.ok(gap !== undefined && gap.from >= last && gap.to >= gap.from + 6, JSON.stringify(gap));
    assert.match(gap.why, /too old resource version/);
    assert.match(heard.lines.at(-1) ?? '', /^begun .*hosts\/h7/);
    await tenant('after');
    await hears('+tenants/after');
  });

  it('begin a watch again that says nothing while the others go on', async () => {
    let mute = true;
    through = (send) => async (request) => {
      const answer = await send(request);
      if (!mute || !request.path.includes('hosts?') || !request.path.includes('watch=true')) return answer;
      mute = false;
      return { ...answer, body: nothingOf(answer.body) };
    };
    await begin();
    for (let i = 0; i < 40; i++) {
      await host(`h${i}`);
      await clock.advance(1_000);
    }
    await hears('+hosts/h39');
    assert.deepEqual(
      heard.lines.slice(1),
      Array.from({ length: 40 }, (_, i) => `+hosts/h${i}`),
    );
    assert.deepEqual(heard.broken, ['the watch of hosts broke off: it is behind the others']);
    assert.deepEqual(heard.gaps, []);
  });

  it('hold no more than so much for a watch that is behind, and tell what that leaves out', async () => {
    let mute = true;
    mostWaiting = 20;
    through = (send) => async (request) => {
      const answer = await send(request);
      if (!mute || !request.path.includes('tenants?') || !request.path.includes('watch=true')) return answer;
      mute = false;
      return { ...answer, body: nothingOf(answer.body) };
    };
    await begin();
    for (let i = 0; i < 25; i++) await host(`h${i}`);
    await eventually(clock, 'it gave up on it', () => heard.gaps.length > 0);
    assert.match(heard.gaps[0]?.why ?? '', /21 events wait for the watch of coppice.dev\/tenants/);
    await host('after');
    await hears('+hosts/after');
  });

  it('do not begin where they may not look', async () => {
    const client = test.as({ user: 'nobody', groups: [] });
    const cut = new WatchedCut({ client, resources: WATCHED, listener: heard, clock, random: () => 0 });
    await assert.rejects(cut.run(stop.signal), /forbidden/i);
  });
});

async function* afterTwo(body: AsyncIterable<Uint8Array>, broke: () => void): AsyncIterable<Uint8Array> {
  let pieces = 0;
  for await (const piece of body) {
    yield piece;
    if (++pieces < 2) continue;
    broke();
    throw new Error('broken off');
  }
}

/** Reads it, and tells nothing of it. */
async function* nothingOf(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  for await (const piece of body) if (piece.length === 0) yield piece;
}

async function* untilAway(body: AsyncIterable<Uint8Array>, away: () => boolean): AsyncIterable<Uint8Array> {
  for await (const piece of body) {
    if (away()) throw new Error('broken off');
    yield piece;
  }
}
