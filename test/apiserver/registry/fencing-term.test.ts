import assert from 'node:assert/strict';
import { controllerIdentity } from '../../../apiserver/auth/identity.ts';
import { MemoryStore } from '../../../apiserver/store/memory/store.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { CoordinationLease } from '../../../resources/kinds/coordination-lease.ts';
import { TERM_HEADER } from '../../../resources/meta/term-header.ts';
import { FarStore } from '../../harness/far-store.ts';
import { type RawAnswer, send } from '../../harness/raw.ts';
import { startTestServer, type TestServer } from '../../harness/server.ts';

const EVENTS = '/api/v1/namespaces/default/events';
const PLACEMENT = controllerIdentity('placement');

describe('writes under a term', () => {
  let test: TestServer;
  let version: string;
  const leases = () => test.client.resource<CoordinationLease>(CoordinationLease, 'coppice-system');
  before(async () => {
    test = await startTestServer();
    const made = await leases().create({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'duty-x' },
      spec: { holderIdentity: 'one' },
    });
    version = made.metadata.resourceVersion;
  });
  after(() => test[Symbol.asyncDispose]());

  const under = (term: string, method: string, path: string, body: unknown): Promise<RawAnswer> =>
    send(test.server.app, method, path, { body, identity: PLACEMENT, headers: { [TERM_HEADER]: term } });
  const event = (name: string) => ({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name },
    involvedObject: { namespace: 'default' },
  });

  it('happen while it lasts', async () => {
    const answer = await under(`coppice-system/duty-x/${version}`, 'POST', EVENTS, event('a'));
    assert.equal(answer.status, 201, answer.text);
  });

  it('are a Conflict when the Lease moved on, is another or is not there, and change nothing', async () => {
    const now = (await leases().patch('duty-x', { spec: { holderIdentity: 'two' } })).metadata.resourceVersion;
    for (const term of [`coppice-system/duty-x/${version}`, `coppice-system/duty-y/${now}`, `default/duty-x/${now}`]) {
      const answer = await under(term, 'POST', EVENTS, event('b'));
      assert.equal(answer.status, 409, answer.text);
      assert.equal(answer.body.reason, 'Conflict');
      const patched = await send(test.server.app, 'PATCH', `${EVENTS}/a`, {
        body: { reason: 'Stale' },
        identity: PLACEMENT,
        headers: { [TERM_HEADER]: term, 'content-type': 'application/merge-patch+json' },
      });
      assert.equal(patched.status, 409, patched.text);
    }
    const left = await send(test.server.app, 'GET', EVENTS, {});
    assert.deepEqual(
      left.body.items?.map(({ metadata }) => metadata.name),
      ['a'],
    );
    assert.equal((await under(`coppice-system/duty-x/${now}`, 'POST', EVENTS, event('c'))).status, 201);
  });

  it('are a BadRequest under what is no term', async () => {
    for (const term of ['', 'duty-x', 'coppice-system/duty-x/', 'a/b/c']) {
      const answer = await under(term, 'POST', EVENTS, event('d'));
      assert.equal(answer.status, 400, `${term}: ${answer.text}`);
    }
  });

  it('do not happen when the Lease moves while they are on their way to the store', async () => {
    const shared = await MemoryStore.open({ ids: systemIds });
    const far = new FarStore(shared);
    await using here = await startTestServer({ store: far });
    await using elsewhere = await startTestServer({ store: shared });
    const theirs = elsewhere.client.resource<CoordinationLease>(CoordinationLease, 'coppice-system');
    const made = await here.client
      .resource<CoordinationLease>(CoordinationLease, 'coppice-system')
      .create({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'duty-x' } });
    far.beforeTxn = async ({ puts }) => {
      if (!puts.some(({ key }) => key.includes('/late'))) return;
      far.beforeTxn = async () => {};
      await theirs.patch('duty-x', { spec: { holderIdentity: 'another' } });
    };
    const answer = await send(here.server.app, 'POST', EVENTS, {
      body: event('late'),
      identity: PLACEMENT,
      headers: { [TERM_HEADER]: `coppice-system/duty-x/${made.metadata.resourceVersion}` },
    });
    assert.equal(answer.status, 409, answer.text);
    const left = await send(elsewhere.server.app, 'GET', `${EVENTS}/late`, {});
    assert.equal(left.status, 404);
  });
});
