import assert from 'node:assert/strict';
import { Namespace } from '../../../resources/kinds/namespace.ts';
import { Tenant } from '../../../resources/kinds/tenant.ts';
import { startTestServer, type TestServer } from '../../harness/server.ts';

const APPLY = { type: 'application/apply-patch+yaml', fieldManager: 'flux', force: true } as const;

describe('an apply that owns nothing', () => {
  let server: TestServer;
  before(async () => {
    server = await startTestServer();
  });
  after(() => server[Symbol.asyncDispose]());

  const apply = (labels?: Record<string, string>) =>
    server.client
      .resource<Namespace>(Namespace)
      .patch('web', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'web', labels } }, APPLY);

  it('of a Namespace writes nothing when it comes again, a Tenant having moved in meanwhile', async () => {
    await apply();
    await server.client
      .resource<Tenant>(Tenant)
      .create({ apiVersion: 'coppice.dev/v1', kind: 'Tenant', metadata: { name: 'web' }, spec: {} });
    const adopted = await server.client.resource<Namespace>(Namespace).get('web');
    assert.equal(adopted.metadata.labels?.['coppice.dev/tenant'], 'web');
    const again = await apply();
    assert.equal(again.metadata.resourceVersion, adopted.metadata.resourceVersion);
    assert.equal(again.metadata.managedFields, undefined);
  });

  it('begins a record with the first field that it says', async () => {
    const said = await apply({ team: 'web' });
    assert.deepEqual(
      said.metadata.managedFields?.map(({ manager, operation }) => `${manager} ${operation}`),
      ['flux Apply', 'before-first-apply Update'],
    );
    assert.equal((await apply({ team: 'web' })).metadata.resourceVersion, said.metadata.resourceVersion);
  });
});
