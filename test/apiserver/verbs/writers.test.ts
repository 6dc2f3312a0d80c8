import assert from 'node:assert/strict';
import { controllerIdentity, type Identity } from '../../../apiserver/auth/identity.ts';
import type { WriteFrame } from '../../../apiserver/verbs/next-object.ts';
import type { ServerParts } from '../../../apiserver/verbs/verb-context.ts';
import { checkFinalizers } from '../../../apiserver/verbs/writers.ts';
import type { KubeObject } from '../../../resources/meta/object.ts';
import { aWidget, WIDGET } from '../../builders/widget.ts';
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

describe('finalizers under coppice.dev/', () => {
  const tenantUser: Identity = { user: 'alice', groups: ['system:authenticated'] };
  const frame = (identity: Identity, parts: ServerParts): WriteFrame => {
    const served = parts.registry.find('demo.example.com', 'v1', 'widgets');
    assert.ok(served !== undefined);
    return { parts, served, identity, subresource: undefined, manager: 'tests' };
  };
  const held = (...finalizers: string[]) => ({ ...aWidget(), metadata: { ...aWidget().metadata, finalizers } });

  it('are for those who have a role: others keep theirs as they are, and may have their own', async () => {
    await using test = await startTestServer({ kinds: [WIDGET] });
    const { parts } = test.server;
    const check = (identity: Identity, before: KubeObject, after: KubeObject) => () =>
      checkFinalizers(frame(identity, parts), before, after);
    assert.throws(check(tenantUser, held('coppice.dev/x'), held()), { reason: 'Forbidden' });
    assert.throws(check(tenantUser, held(), held('coppice.dev/x')), { reason: 'Forbidden' });
    check(tenantUser, held('coppice.dev/x'), held('coppice.dev/x', 'example.com/mine'))();
    check(controllerIdentity('garbage'), held('coppice.dev/x'), held())();
  });
});
