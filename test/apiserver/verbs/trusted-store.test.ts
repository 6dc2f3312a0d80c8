import assert from 'node:assert/strict';
import { send } from '../../harness/raw.ts';
import { startTestServer } from '../../harness/server.ts';

const HOSTS = '/apis/coppice.dev/v1/hosts';

describe('the store that a Host is told to trust', () => {
  it('is the uid of one, and a revision', async () => {
    await using world = await startTestServer();
    const { app } = world.server;
    const body = { apiVersion: 'coppice.dev/v1', kind: 'Host', metadata: { name: 'mac-1' }, spec: {} };
    const made = await send(app, 'POST', HOSTS, { body });
    assert.equal(made.status, 201, made.text);
    const patch = (trustedStore: string) =>
      send(app, 'PATCH', `${HOSTS}/mac-1`, {
        body: { spec: { trustedStore } },
        headers: { 'content-type': 'application/merge-patch+json' },
      });
    for (const text of ['', 'yes', '@5', `${world.store.uid}@`, `${world.store.uid}@-1`, ` ${world.store.uid}@5`]) {
      const { status, body } = await patch(text);
      assert.equal(status, 422, text);
      assert.match(body.message ?? '', /spec\.trustedStore: Invalid value: .* should match '\S+@\S+'$/);
    }
    assert.equal((await patch(`${world.store.uid}@1000000005`)).status, 200);
  });
});
