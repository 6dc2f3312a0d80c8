import assert from 'node:assert/strict';
import { controllerIdentity, type Identity } from '../../../apiserver/auth/identity.ts';
import { createVM, makeQuota, VMS_URL } from '../../harness/quota-world.ts';
import { send } from '../../harness/raw.ts';
import { startTestServer, type TestServer } from '../../harness/server.ts';

describe('fields with a writer', () => {
  let test: TestServer;
  const patch = (identity: Identity | undefined, body: object, method = 'PATCH') =>
    send(test.server.app, method, `${VMS_URL}/vm`, {
      body,
      headers: { 'content-type': method === 'PUT' ? 'application/json' : 'application/merge-patch+json' },
      ...(identity === undefined ? {} : { identity }),
    });
  before(async () => {
    test = await startTestServer();
    await makeQuota(test.server.app, 9);
    await createVM(test.server.app, 'vm');
  });
  after(() => test[Symbol.asyncDispose]());

  it('are carried over when a write leaves them out', async () => {
    const stored = (await send(test.server.app, 'GET', `${VMS_URL}/vm`)).body;
    const { image, class: vmClass } = stored.spec as { image: string; class: string };
    const answer = await patch(undefined, { ...stored, spec: { image, class: vmClass, power: 'Stopped' } }, 'PUT');
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(
      [answer.body.spec?.resolved, answer.body.spec?.guestID],
      [stored.spec?.resolved, stored.spec?.guestID],
    );
    assert.equal(answer.body.spec?.power, 'Stopped');
  });

  it('are changed by their writer and by an operator; anybody else is told which field', async () => {
    for (const [field, value] of [
      ['guestID', 'other'],
      ['epoch', 7],
    ] as const) {
      const refused = await patch(controllerIdentity('vm-lifecycle'), { spec: { [field]: value } });
      assert.equal(refused.status, 403);
      assert.deepEqual(
        refused.body.details?.causes?.map(({ reason, field: at }) => [reason, at]),
        [['FieldWriter', `spec.${field}`]],
      );
    }
    assert.equal((await patch(controllerIdentity('placement'), { spec: { epoch: 3 } })).body.spec?.epoch, 3);
    assert.equal((await patch(undefined, { spec: { epoch: 4 } })).body.spec?.epoch, 4);
  });

  it('that stay the same offend nobody', async () => {
    assert.equal(
      (await patch(controllerIdentity('vm-lifecycle'), { spec: { epoch: 4, power: 'Running' } })).status,
      200,
    );
  });
});
