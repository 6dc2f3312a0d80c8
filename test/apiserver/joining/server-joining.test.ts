import assert from 'node:assert/strict';
import type { AuditEntry } from '../../../apiserver/admit-request.ts';
import { tokenHash } from '../../../apiserver/auth/bearer-tokens.ts';
import { hostIdentity } from '../../../apiserver/auth/identity.ts';
import { startApiServer } from '../../../apiserver/server.ts';
import { MemoryStore } from '../../../apiserver/store/memory/store.ts';
import type { Store } from '../../../apiserver/store/store.ts';
import { lineLogger } from '../../../resources/ambient/log.ts';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { type RawWish, send } from '../../harness/raw.ts';
import { SEALING_KEY } from '../../harness/server.ts';

const POLICY = '/apis/coppice.dev/v1/policies/default';
const ASK = { apiVersion: 'coppice.dev/v1', kind: 'JoinToken' };
const JOIN = { apiVersion: 'coppice.dev/v1', kind: 'ServerJoin' };
const FILES = { 'ca.key': 'the-most-secret-of-all' };

describe('letting a new server in', () => {
  let clock: ManualClock;
  let store: Store;
  let audited: AuditEntry[];
  let logged: string[];
  const log = lineLogger(
    (line) => void logged.push(line),
    () => clock.now(),
  );
  const serve = (material: boolean) =>
    startApiServer({
      store,
      operatorTokenHash: tokenHash('token'),
      sealingKeys: [SEALING_KEY],
      ...(material ? { joinMaterial: () => ({ authorities: ['ab'.repeat(32)], files: FILES }) } : {}),
      audit: (entry) => audited.push(entry),
      name: 'test',
      clock,
      ids: systemIds,
      random: () => 0.5,
      log,
      platform: { platform: 'linux/amd64', runtime: 'test' },
    });
  type Server = Awaited<ReturnType<typeof serve>>;
  let server: Server;
  beforeEach(async () => {
    clock = new ManualClock();
    store = await MemoryStore.open({ ids: systemIds });
    [audited, logged] = [[], []];
    server = await serve(true);
  });
  afterEach(async () => {
    await server[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
  });

  const mint = async (wish: RawWish = { body: ASK }) => {
    const answer = await send(server.app, 'POST', `${POLICY}/jointoken`, wish);
    assert.equal(answer.status, 201, answer.text);
    return answer.body.status as { token: string; authorities: string[]; expirationTimestamp: string };
  };
  const join = (token: string, at = server, query = '') =>
    send(at.app, 'POST', `${POLICY}/join${query}`, { body: JOIN, credential: { kind: 'wire', bearer: token } });

  it('gives the keys for a token, once, whichever server is asked', async () => {
    await using other = await serve(true);
    const { token, authorities } = await mint();
    assert.deepEqual(authorities, ['ab'.repeat(32)]);
    const given = await join(token, other);
    assert.deepEqual([given.status, given.body.status], [201, { files: FILES }]);
    for (const at of [server, other]) {
      const again = await join(token, at);
      assert.equal(again.status, 403);
      assert.match(again.body.message ?? '', /^the join token is not good: it was used at 20/);
      assert.ok(!again.text.includes('secret'));
    }
  });

  it('gives them to one of two that ask with the same token at once', async () => {
    await using other = await serve(true);
    const { token } = await mint();
    const answers = await Promise.all([join(token), join(token, other), join(token), join(token, other)]);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 403, 403, 403]);
  });

  it('refuses a token that is over or not known, and says so', async () => {
    const { token, expirationTimestamp } = await mint();
    assert.equal(Date.parse(expirationTimestamp), clock.now() + 15 * 60_000);
    await clock.advance(15 * 60_000);
    assert.match((await join(token)).body.message ?? '', /not good: it ended at 20/);
    assert.match((await join(`coppice-join.${'0'.repeat(64)}`)).body.message ?? '', /not good: it is not known here$/);
    assert.equal((await join('coppice-join.short')).status, 401);
  });

  it('lets the token do nothing else, and nobody but the operator make one', async () => {
    const { token } = await mint();
    const credential = { kind: 'wire', bearer: token } as const;
    for (const [method, url] of [
      ['GET', '/api/v1/namespaces'],
      ['GET', POLICY],
      ['GET', '/api'],
      ['POST', `${POLICY}/jointoken`],
    ] as const) {
      assert.equal((await send(server.app, method, url, { credential })).status, 403, url);
    }
    const host = await send(server.app, 'POST', `${POLICY}/jointoken`, { body: ASK, identity: hostIdentity('mac-1') });
    assert.equal(host.status, 403);
    assert.equal(
      (await send(server.app, 'POST', `${POLICY}/join`, { body: JOIN })).status,
      403,
      'not even the operator',
    );
    assert.equal((await join(token)).status, 201, 'it was not used up by any of this');
  });

  it('is of the Policy that there is, and of no other', async () => {
    const { token } = await mint();
    const other = POLICY.replace('default', 'other');
    const credential = { kind: 'wire', bearer: token } as const;
    for (const [path, wish] of [
      ['jointoken', { body: ASK }],
      ['join', { body: JOIN, credential }],
    ] as const) {
      const { status, body } = await send(server.app, 'POST', `${other}/${path}`, wish);
      assert.deepEqual([status, body.message], [404, 'policies.coppice.dev "other" not found']);
    }
    assert.equal((await join(token)).status, 201, 'it was not used up by this');
  });

  it('does nothing in a dry run', async () => {
    const { token } = await mint();
    const answer = await send(server.app, 'POST', `${POLICY}/jointoken?dryRun=All`, { body: ASK });
    assert.deepEqual([answer.status, answer.body.reason], [400, 'BadRequest']);
    assert.equal((await join(token, server, '?dryRun=All')).status, 400);
    assert.equal((await join(token)).status, 201);
  });

  it('leaves no trace of the token or the keys in the store, the log or the audit', async () => {
    const { token } = await mint();
    assert.equal((await join(token)).status, 201);
    await join(token);
    const secret = token.slice('coppice-join.'.length);
    const { entries } = await store.range({ prefix: '' });
    const traces = [
      ...entries.map(({ key, value }) => key + Buffer.from(value).toString('latin1')),
      ...logged,
      ...audited.map((entry) => JSON.stringify(entry)),
    ];
    assert.ok(
      audited.some(({ path, user, status }) => path === `${POLICY}/join` && user === 'system:joiner' && status === 201),
    );
    for (const trace of traces)
      assert.ok(!trace.includes(secret) && !trace.includes(FILES['ca.key']), trace.slice(0, 80));
  });

  it('forgets tokens a day after they ended', async () => {
    const tokens = async () => (await store.range({ prefix: 'join/tokens/', limit: 0 })).remaining;
    await mint();
    await clock.advance(24 * 3600_000);
    await mint();
    assert.equal(await tokens(), 2);
    await clock.advance(15 * 60_000);
    await mint();
    assert.equal(await tokens(), 2);
  });

  it('is not done by a server that has no folder of keys', async () => {
    await using bare = await serve(false);
    const { token } = await mint();
    const answer = await join(token, bare);
    assert.equal(answer.status, 503);
    assert.match(answer.body.message ?? '', /it has no folder of keys$/);
    assert.equal((await join(token)).status, 201, 'the token is still good');
  });
});
