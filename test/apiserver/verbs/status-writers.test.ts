import assert from 'node:assert/strict';
import { controllerIdentity, hostIdentity, type Identity } from '../../../apiserver/auth/identity.ts';
import { valueAt } from '../../../resources/meta/object.ts';
import { aHost, EPOCH_START } from '../../harness/builders.ts';
import { type Answer, send } from '../../harness/raw.ts';
import { startTestServer, type TestServer } from '../../harness/server.ts';

const HOST_URL = '/apis/coppice.dev/v1/hosts/mac-1';
const NODELET = hostIdentity('mac-1');

const pending = (status: 'True' | 'False') => ({
  type: 'ScrubPending',
  status,
  reason: 'LeaseEnded',
  message: '',
  lastTransitionTime: EPOCH_START,
});
const lease = (namespace: string) => ({ namespace, name: 'ci', uid: 'u', since: EPOCH_START });

const leaseIn = (answer: Answer) => valueAt(answer, ['status', 'lease']);
const conditionsIn = (answer: Answer) => valueAt(answer, ['status', 'conditions']) as { type: string }[];

describe('fields of a status with a writer', () => {
  let test: TestServer;
  const status = (identity: Identity | undefined, body: object, method = 'PATCH') =>
    send(test.server.app, method, `${HOST_URL}/status`, {
      body,
      headers: { 'content-type': method === 'PUT' ? 'application/json' : 'application/merge-patch+json' },
      ...(identity === undefined ? {} : { identity }),
    });
  const stored = async () => (await send(test.server.app, 'GET', HOST_URL)).body;
  const causes = (answer: Awaited<ReturnType<typeof status>>) =>
    answer.body.details?.causes?.map(({ reason, field }) => [reason, field]);
  beforeEach(async () => {
    test = await startTestServer();
    const { spec, status: told } = aHost();
    const body = { apiVersion: 'coppice.dev/v1', kind: 'Host', metadata: { name: 'mac-1' }, spec };
    await send(test.server.app, 'POST', '/apis/coppice.dev/v1/hosts', { body });
    const leased = await status(undefined, { status: { ...told, lease: lease('red') } });
    assert.equal(leased.status, 200, leased.text);
    const conditions = [...(told?.conditions ?? []), pending('True')];
    const made = await status(undefined, { status: { conditions } });
    assert.equal(made.status, 200, made.text);
  });
  afterEach(() => test[Symbol.asyncDispose]());

  it('are kept when a nodelet leaves them out, whatever it sends', async () => {
    const before = await stored();
    const told = { os: 'darwin', conditions: [{ ...pending('True'), type: 'DriverReady' }] };
    const patched = await status(NODELET, { status: { ...told, lease: null } });
    assert.equal(patched.status, 200, patched.text);
    const put = await status(NODELET, { ...(await stored()), status: told }, 'PUT');
    assert.equal(put.status, 200, put.text);
    const after = await stored();
    assert.deepEqual(leaseIn(after), leaseIn(before));
    assert.deepEqual(
      conditionsIn(after).map(({ type }) => type),
      ['DriverReady', 'ScrubPending'],
    );
  });

  it('are not changed by a nodelet: it is told which', async () => {
    const stolen = await status(NODELET, { status: { lease: lease('blue') } });
    assert.deepEqual([stolen.status, causes(stolen)], [403, [['FieldWriter', 'status.lease']]]);
    const cleared = await status(NODELET, { status: { conditions: [pending('False')] } });
    assert.deepEqual([cleared.status, causes(cleared)], [403, [['FieldWriter', 'status.conditions[ScrubPending]']]]);
    const liveness = await status(controllerIdentity('host-liveness'), { status: { conditions: [pending('False')] } });
    assert.equal(liveness.status, 403);
  });

  it('are changed, and taken away, by their writers and by an operator', async () => {
    const cleared = await status(controllerIdentity('lease'), { status: { lease: null } });
    assert.equal(leaseIn(cleared.body), undefined, cleared.text);
    const scrub = { requestedAt: EPOCH_START, outcome: 'Running' };
    const begun = await status(controllerIdentity('scrub'), { status: { scrub } });
    assert.equal(begun.status, 200, begun.text);
    const { body } = await status(controllerIdentity('scrub'), {
      status: { scrub: { outcome: 'Succeeded', finishedAt: EPOCH_START }, conditions: [pending('False')] },
    });
    assert.deepEqual(conditionsIn(body), [pending('False')]);
    const given = await status(undefined, { status: { lease: lease('red') } });
    assert.deepEqual(leaseIn(given.body), lease('red'));
    assert.equal(leaseIn((await status(undefined, { status: { lease: null } })).body), undefined);
  });
});
