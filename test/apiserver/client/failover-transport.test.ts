import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:net';
import fc from 'fast-check';
import { ApiClient, bodyText } from '../../../apiserver/client/client.ts';
import { FailoverTransport, openFailover } from '../../../apiserver/client/failover-transport.ts';
import { ServerChoice } from '../../../apiserver/client/server-choice.ts';
import type { ApiRequest, ApiResponse, Transport } from '../../../apiserver/client/transport.ts';
import { UnreachableError, type UnreachableReason } from '../../../apiserver/client/unreachable-error.ts';
import { VMS } from '../../../cli/vm-ref.ts';
import type { Clock } from '../../../resources/ambient/clock.ts';
import { systemClock } from '../../../resources/ambient/system-clock.ts';
import { FakeApi, TOKEN } from '../../harness/fake-api.ts';

/** What comes of one request to one server. */
const FATES = ['answers', 'refuses', 'times out', 'breaks before', 'breaks after', 'is away'] as const;
type Fate = (typeof FATES)[number];

/** Waits are over at once, and are kept to be looked at. */
class NoTime implements Pick<Clock, 'sleep'> {
  readonly waits: number[] = [];
  readonly clock: Clock = {
    ...systemClock,
    now: () => 0,
    monotonic: () => 0,
    after: () => () => {},
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      this.waits.push(ms);
    },
  };
  sleep = this.clock.sleep;
}

/** Servers of one store, each of which meets its next fate with each request. */
class World {
  readonly time = new NoTime();
  /** How often each write happened. */
  readonly done = new Map<string, number>();
  readonly asked: string[] = [];
  readonly servers: ServerChoice;
  readonly #fates: Map<string, Fate[]>;
  readonly #otherwise: Fate;

  constructor(fates: readonly (readonly Fate[])[], otherwise: Fate = 'answers', random = 0) {
    this.#fates = new Map(fates.map((list, i) => [`https://s${i}`, [...list]]));
    this.#otherwise = otherwise;
    this.servers = new ServerChoice([...this.#fates.keys()], () => random);
  }

  get send(): Transport {
    const { servers } = this;
    const sendTo = (server: string) => (request: ApiRequest) => this.#meet(server, request);
    return new FailoverTransport({ servers, sendTo, clock: this.time.clock, random: () => 0.5 }).send;
  }

  async #meet(server: string, request: ApiRequest): Promise<ApiResponse> {
    this.asked.push(server);
    const lost = (reason: UnreachableReason, sent: boolean) =>
      new UnreachableError(reason, server, `${server} ${reason}`, { sent });
    const fate = this.#fates.get(server)?.shift() ?? this.#otherwise;
    if (fate === 'refuses') throw lost('refused', false);
    if (fate === 'times out') throw lost('timeout', false);
    if (fate === 'breaks before') throw lost('broken', true);
    if (fate === 'is away') return answer(503, server);
    if (request.method !== 'GET') this.done.set(request.path, (this.done.get(request.path) ?? 0) + 1);
    if (fate === 'breaks after') throw lost('broken', true);
    return answer(200, server);
  }
}

async function* body(text: string): AsyncIterable<Uint8Array> {
  yield new TextEncoder().encode(text);
}
const answer = (status: number, text: string): ApiResponse => ({ status, headers: {}, body: body(text) });

describe('requests to several servers', () => {
  it('do every acknowledged write once, and tell of each other one whether it may have been done', async () => {
    const fates = fc.array(fc.array(fc.constantFrom(...FATES), { maxLength: 12 }), { minLength: 1, maxLength: 4 });
    const requests = fc.array(fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE'), { maxLength: 15 });
    await fc.assert(
      fc.asyncProperty(fates, requests, fc.constantFrom(...FATES), fc.boolean(), async (lists, methods, last, side) => {
        const world = new World(lists, last);
        const one = async (method: string, i: number) => {
          const path = `/write-${i}`;
          const outcome = await world.send({ method, path }).then(
            ({ status }) => ({ status }),
            (error: unknown) => {
              assert.ok(error instanceof UnreachableError);
              return { sent: error.sent, text: error.message };
            },
          );
          const times = world.done.get(path) ?? 0;
          if (method === 'GET') assert.equal(times, 0);
          else if ('status' in outcome) assert.equal(times, outcome.status === 200 ? 1 : 0);
          else if (outcome.sent) assert.match(outcome.text, /may or may not have been done$/);
          else assert.equal(times, 0, 'it is said that nothing was done');
          assert.ok(times <= 1);
        };
        if (side) await Promise.all(methods.map(one));
        else for (const [i, method] of methods.entries()) await one(method, i);
      }),
      { numRuns: 500 },
    );
  });

  it('read from whichever server answers', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...FATES), { maxLength: 5 }), async (bad) => {
        const world = new World([...bad.filter((fate) => fate !== 'answers').map((fate) => [fate]), ['answers']]);
        assert.equal((await world.send({ method: 'GET', path: '/' })).status, 200);
      }),
    );
  });

  it('stay with the server that works, and turn to it first after another failed', async () => {
    const world = new World([['answers', 'refuses'], [], []]);
    for (let i = 0; i < 4; i++) await world.send({ method: 'POST', path: `/${i}` });
    assert.deepEqual(world.asked, ['https://s0', 'https://s0', 'https://s1', 'https://s1', 'https://s1']);
  });

  it('say that a server is silent which takes no connection, or gives no answer', async () => {
    const world = new World([['times out', 'refuses', 'times out'], []]);
    const silent: string[] = [];
    const stop = world.servers.onSilent((server) => silent.push(server));
    await world.send({ method: 'POST', path: '/1' });
    assert.deepEqual(silent, ['https://s0']);
    world.servers.failed('https://s1');
    await world.send({ method: 'POST', path: '/2' });
    assert.deepEqual(silent, ['https://s0']);
    stop();
    world.servers.failed('https://s1');
    await world.send({ method: 'POST', path: '/3' });
    assert.deepEqual(silent, ['https://s0']);
  });

  it('begin at one of the servers by chance', async () => {
    const world = new World([[], [], []], 'answers', 0.7);
    await world.send({ method: 'GET', path: '/' });
    assert.deepEqual(world.asked, ['https://s2']);
  });

  it('are tried three times over with growing waits when no server can be reached, and then say why', async () => {
    const world = new World([[], []], 'refuses');
    await assert.rejects(world.send({ method: 'POST', path: '/' }), { reason: 'refused', sent: false });
    assert.equal(world.asked.length, 6);
    assert.deepEqual(world.time.waits, [75, 150]);
  });

  it('answer what a server says of itself when no other says more', async () => {
    const world = new World([['refuses'], ['is away'], ['times out']], 'refuses');
    const response = await world.send({ method: 'GET', path: '/' });
    assert.deepEqual([response.status, await bodyText(response)], [503, 'https://s1']);
  });

  it('end with their signal, between two tries too', async () => {
    const ending = new AbortController();
    const world = new World([[]], 'refuses');
    const { servers } = world;
    const sendTo = () => world.send;
    const clock: Clock = {
      ...world.time.clock,
      sleep: async (_, signal) => {
        ending.abort(new Error('enough'));
        signal?.throwIfAborted();
      },
    };
    const { send } = new FailoverTransport({ servers, sendTo, clock, random: () => 0 });
    await assert.rejects(send({ method: 'GET', path: '/', signal: ending.signal }), { message: 'enough' });
  });
});

describe('requests to several servers over HTTPS', () => {
  const random = () => 0;
  const clock = systemClock;

  async function openTo(servers: readonly string[], ca: string) {
    const connection = (server: string) => ({ server, ca, authorization: async () => `Bearer ${TOKEN}` });
    return openFailover({ servers: new ServerChoice(servers, random), clock, random }, connection);
  }

  it('go to the second server when the first is not there, and follow changes there', async () => {
    await using api = await FakeApi.start();
    await using transport = await openTo(['https://127.0.0.1:1', api.url], api.certificate.ca);
    const vms = new ApiClient(transport.send).resource(VMS, 'demo');
    const made = { apiVersion: 'coppice.dev/v1', kind: 'VM', metadata: { name: 'a', namespace: 'demo' } };
    await vms.create(made);
    const ending = new AbortController();
    const seen: string[] = [];
    for await (const { object } of await vms.watch({ resourceVersion: '0' }, ending.signal)) {
      seen.push(object.metadata.name);
      break;
    }
    assert.deepEqual(seen, ['a']);
  });

  it('go on elsewhere where they wait for a server that is found to be silent', async () => {
    await using first = await FakeApi.start();
    await using second = await FakeApi.start();
    const servers = new ServerChoice([first.url, second.url], random);
    const connection = (server: string) => ({
      server,
      ca: (server === first.url ? first : second).certificate.ca,
      authorization: async () => `Bearer ${TOKEN}`,
    });
    await using transport = openFailover({ servers, clock, random }, connection);
    const vms = new ApiClient(transport.send).resource(VMS, 'demo');
    const watch = await vms.watch({ resourceVersion: '999' }, new AbortController().signal);
    const reading = (async () => {
      for await (const _ of watch) assert.fail('nothing happened');
    })();
    servers.silent(first.url);
    await assert.rejects(reading, { name: 'UnreachableError', reason: 'broken' });
    assert.equal((await vms.list()).items.length, 0);
    assert.deepEqual([first.requests.length, second.requests.length], [1, 1]);
  });

  it('tell a write that was sent from one that was not', async () => {
    await using api = await FakeApi.start();
    await using mute = await silentServer(false);
    await using hangsUp = await silentServer(true);
    const post = { method: 'POST', path: '/', body: new Uint8Array() };
    for (const server of [hangsUp.url, 'https://127.0.0.1:1']) {
      await using transport = await openTo([server], api.certificate.ca);
      await assert.rejects(transport.send(post), { name: 'UnreachableError', sent: false }, server);
    }
    await using transport = await openTo([mute.url, api.url], api.certificate.ca);
    assert.ok((await transport.send(post)).status >= 400, 'a server that shakes no hands is left after a while');
    api.intercept = () => {
      api.dropConnections();
      return undefined;
    };
    await assert.rejects(transport.send(post), { name: 'UnreachableError', sent: true });
  });
});

/** What listens, and speaks no TLS. */
async function silentServer(hangsUp: boolean): Promise<{ readonly url: string } & AsyncDisposable> {
  const server: Server = createServer((socket) => {
    socket.on('error', () => {});
    if (hangsUp) socket.destroy();
    else socket.resume();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  return {
    url: `https://127.0.0.1:${address.port}`,
    [Symbol.asyncDispose]: () => new Promise((resolve) => void server.close(() => resolve())),
  };
}
