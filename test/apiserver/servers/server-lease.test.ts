import assert from 'node:assert/strict';
import { controllerIdentity } from '../../../apiserver/auth/identity.ts';
import { ServerDirectory } from '../../../apiserver/servers/server-directory.ts';
import { FORGET_MS, keepServerLease } from '../../../apiserver/servers/server-lease.ts';
import { lineLogger } from '../../../resources/ambient/log.ts';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import { SERVER_LEASE_RENEWAL_MS, SERVER_LEASE_SECONDS } from '../../../resources/streams/server-leases.ts';
import { eventually } from '../../harness/eventually.ts';
import { send } from '../../harness/raw.ts';
import { startTestServer, type TestServer } from '../../harness/server.ts';
import { until } from '../../harness/until.ts';

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/coppice-system/leases';
const MERGE = { 'content-type': 'application/merge-patch+json' };
const never = new AbortController().signal;

describe('the lease of an API server', () => {
  let test: TestServer;
  let clock: ManualClock;
  let directory: ServerDirectory;
  let held: AsyncDisposableStack;
  let logged: string[];
  beforeEach(async () => {
    held = new AsyncDisposableStack();
    clock = new ManualClock();
    logged = [];
    test = held.use(await startTestServer({ clock }));
    directory = held.use(new ServerDirectory(test.server.parts.cache.resource('coordination.k8s.io/leases'), clock));
  });
  afterEach(() => held.disposeAsync());

  const announce = (name: string, uid = name) =>
    keepServerLease(
      {
        name,
        uid,
        address: `https://${uid}.example:7799`,
        transport: test.server.transportFor(controllerIdentity('apiserver')),
        directory,
        clock,
        log: lineLogger(
          (line) => void logged.push(line),
          () => clock.now(),
        ),
      },
      never,
    );
  const lease = async (name: string) => (await send(test.server.app, 'GET', `${LEASES}/apiserver-${name}`)).body;
  const version = async (name: string) => (await lease(name)).metadata?.resourceVersion;
  /** As a server that runs elsewhere does. */
  const renewElsewhere = async (name: string) => {
    const body = { spec: { renewTime: '2026-01-01T00:00:00.000000Z', leaseTransitions: clock.now() % 1_000_000 } };
    await send(test.server.app, 'PATCH', `${LEASES}/apiserver-${name}`, { body, headers: MERGE });
  };
  /** Time goes on while others work. */
  const pass = async (ms: number) => {
    for (let gone = 0; gone < ms; gone += 1_000) {
      await clock.advance(1_000);
      await send(test.server.app, 'GET', LEASES);
    }
  };

  it('tells who it is and where, is renewed every ten seconds, and goes with it', async () => {
    const announced = await announce('a', 'u');
    const { spec, metadata } = await lease('a');
    assert.deepEqual([spec?.holderIdentity, spec?.leaseDurationSeconds], ['a_u', SERVER_LEASE_SECONDS]);
    assert.deepEqual(metadata?.labels, { 'coppice.dev/component': 'apiserver' });
    assert.deepEqual(metadata?.annotations, { 'coppice.dev/address': 'https://u.example:7799' });
    const first = await version('a');
    await clock.advance(SERVER_LEASE_RENEWAL_MS - 1);
    assert.equal(await version('a'), first);
    await clock.advance(1);
    await until('it is renewed', async () => (await version('a')) !== first);
    await announced[Symbol.asyncDispose]();
    assert.equal((await lease('a')).code, 404);
  });

  it('is taken again at once by the same home, at another address', async () => {
    await announce('a', 'u');
    await using _again = await announce('a', 'u');
    assert.equal((await lease('a')).spec?.holderIdentity, 'a_u');
  });

  it('is not for another of that name while its holder lives', async () => {
    await using _first = await announce('a', 'one');
    const second = assert.rejects(announce('a', 'two'), {
      name: 'NameTakenError',
      message: 'another API server is called a, at https://one.example:7799',
    });
    await eventually(clock, 'the second gave up', () =>
      Promise.race([second.then(() => true), pass(1_000).then(() => false)]),
    );
    assert.equal((await lease('a')).spec?.holderIdentity, 'a_one');
  });

  it('is taken over from a holder that stays silent', async () => {
    const body = { metadata: { name: 'apiserver-a' }, spec: { holderIdentity: 'a_gone' } };
    assert.equal((await send(test.server.app, 'POST', LEASES, { body })).status, 201);
    const taking = announce('a', 'new');
    await pass(SERVER_LEASE_SECONDS * 1000 - 2_000);
    assert.equal((await lease('a')).spec?.holderIdentity, 'a_gone');
    await pass(4_000);
    await using _announced = await taking;
    assert.equal((await lease('a')).spec?.holderIdentity, 'a_new');
  });

  it('of a server that died is not counted on after a period, and goes after minutes, whatever its wall clock said', async () => {
    await using _a = await announce('a');
    const dead = await announce('b');
    const { labels, annotations } = (await lease('b')).metadata ?? {};
    await dead[Symbol.asyncDispose]();
    const renewTime = '2199-01-01T00:00:00.000000Z';
    const body = { metadata: { name: 'apiserver-b', labels, annotations }, spec: { holderIdentity: 'b_b', renewTime } };
    assert.equal((await send(test.server.app, 'POST', LEASES, { body })).status, 201);
    assert.equal(directory.addressOf('b'), 'https://b.example:7799');
    await pass(SERVER_LEASE_SECONDS * 1000 + 1_000);
    assert.equal(directory.addressOf('b'), undefined);
    await pass(FORGET_MS / 2);
    await renewElsewhere('b');
    assert.equal(directory.addressOf('b'), 'https://b.example:7799');
    await pass(FORGET_MS - SERVER_LEASE_RENEWAL_MS);
    assert.equal((await lease('b')).code, undefined);
    await eventually(clock, 'a has forgotten b', async () => (await lease('b')).code === 404);
    assert.equal((await lease('a')).spec?.holderIdentity, 'a_a', 'a renews its own');
  });

  const holdBy = async (name: string, holderIdentity: string) => {
    await send(test.server.app, 'PATCH', `${LEASES}/apiserver-${name}`, {
      body: { spec: { holderIdentity } },
      headers: MERGE,
    });
  };

  it('is taken back when somebody writes another holder into it, who never renews it', async () => {
    await using _a = await announce('a');
    for (const holder of ['x', 'a_other', '']) {
      await holdBy('a', holder);
      assert.equal((await lease('a')).spec?.holderIdentity ?? '', holder);
      await eventually(
        clock,
        `it is back from "${holder}"`,
        async () => (await lease('a')).spec?.holderIdentity === 'a_a',
      );
    }
    assert.equal(directory.addressOf('a'), 'https://a.example:7799');
  });

  it('is left to another that renews it, and told of once', async () => {
    await using _a = await announce('a');
    await holdBy('a', 'a_other');
    for (let round = 0; round < 20; round++) {
      await pass(SERVER_LEASE_RENEWAL_MS);
      assert.equal((await lease('a')).spec?.holderIdentity, 'a_other');
      await renewElsewhere('a');
    }
    assert.deepEqual(
      logged.map((line) => line.replace(/^\S+ /, '')),
      ['error server lease is held by another name=a holder=a_other'],
    );
    await eventually(
      clock,
      'it is back from one that is gone',
      async () => (await lease('a')).spec?.holderIdentity === 'a_a',
    );
  });

  it('is made again when others took the server for dead', async () => {
    await using _a = await announce('a');
    await send(test.server.app, 'DELETE', `${LEASES}/apiserver-a`);
    await eventually(clock, 'it is there', async () => (await lease('a')).spec?.holderIdentity === 'a_a');
  });
});
