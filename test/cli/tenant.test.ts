import assert from 'node:assert/strict';
import { load } from 'js-yaml';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { CliServer } from '../harness/cli-server.ts';
import type { CliFolder, CliRun } from '../harness/run-cli.ts';
import type { TestServer } from '../harness/server.ts';

describe('coppice tenant', () => {
  let server: TestServer;
  let folder: CliFolder;
  const held = new AsyncDisposableStack();
  const run = (...argv: string[]): Promise<CliRun> => folder.run(['tenant', ...argv]);
  const spec = async (name: string) => (await server.client.resource<Tenant>(Tenant).get(name)).spec;

  before(async () => {
    ({ server, folder } = held.use(await CliServer.start()));
  });
  after(() => held.disposeAsync());

  it('create makes one of what its flags say, and list and get show it', async () => {
    const limits = ['--max-vms', '3', '--max-memory', '8Gi', '--max-leased-hosts', '0'];
    const made = await run('create', 'acme', '--display-name', 'Acme', ...limits);
    assert.deepEqual([made.code, made.stdout], [0, 'tenant.coppice.dev/acme created\n'], made.stderr);
    assert.equal((await run('create', 'beta')).code, 0);
    const quota = { maxVMs: 3, maxMemory: '8Gi', maxLeasedHosts: 0 };
    assert.deepEqual([await spec('acme'), await spec('beta')], [{ displayName: 'Acme', quota }, {}]);
    assert.equal((await run('list', '-o', 'name')).stdout, 'tenant.coppice.dev/acme\ntenant.coppice.dev/beta\n');
    assert.equal((await run('get', 'tenant/beta', '-o', 'name')).stdout, 'tenant.coppice.dev/beta\n');
    assert.equal((await run('create')).code, 1);
  });

  it('disable and enable leave nothing behind', async () => {
    assert.equal((await run('disable', 'beta')).stdout, 'tenant.coppice.dev/beta disabled\n');
    assert.deepEqual(await spec('beta'), { disabled: true });
    assert.equal((await run('enable', 'beta')).stdout, 'tenant.coppice.dev/beta enabled\n');
    assert.deepEqual(await spec('beta'), {});
  });

  it('enable says of one that is being deleted that it stays turned away', async () => {
    assert.equal((await run('create', 'going')).code, 0);
    await server.client.resource<Tenant>(Tenant).delete('going');
    const { code, stdout, stderr } = await run('enable', 'going');
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /^error: tenant going is being deleted since 20\S+Z: it stays turned away\n/);
  });

  it('token prints the token alone, and kubeconfig one that opens the tenant’s namespace and ends the one before', async () => {
    const token = (await run('token', 'acme')).stdout;
    assert.match(token, /^coppice-tenant\.acme\.[0-9a-f]{64}\n$/);
    const { code, stdout } = await run('kubeconfig', 'acme');
    assert.equal(code, 0);
    const { contexts } = load(stdout) as { contexts: readonly { context: { namespace: string } }[] };
    assert.equal(contexts[0]?.context.namespace, 'acme');
    await folder.write('acme.kubeconfig', stdout);
    await folder.write('before.kubeconfig', stdout.replace(/coppice-tenant\.\S+/, token.trim()));
    const get = (file: string) =>
      folder.run(['get', 'tenants', '-o', 'name', '--kubeconfig', `${folder.path}/${file}`]);
    assert.equal((await get('acme.kubeconfig')).stdout, 'tenant.coppice.dev/acme\n');
    assert.equal((await get('before.kubeconfig')).code, 1);
    const other = await folder.run(['tenant', 'token', 'beta', '--kubeconfig', `${folder.path}/acme.kubeconfig`]);
    assert.match(other.stderr, /"beta" not found/);
  });

  it('delete needs -y where nobody can be asked; by force it says so first, and what keeps it when its time is up', async () => {
    const unasked = await run('delete', 'acme');
    assert.equal(unasked.code, 1);
    assert.match(unasked.stderr, /this deletes tenant acme with all its VMs .*add -y/s);
    const kept = await run('delete', 'acme', '--force', '-y', '--timeout', '1s');
    assert.equal(kept.code, 1);
    assert.match(kept.stderr, /tenant acme is not gone within 1s; it goes on by itself/);
    assert.match((await spec('acme')).forceDelete?.requestedAt ?? '', /^\d{4}-.*Z$/);
    const asked = await run('delete', 'beta', '-y', '--no-wait');
    assert.equal(asked.stdout, 'tenant.coppice.dev/beta is being deleted\n');
    assert.equal((await spec('beta')).forceDelete, undefined);
  });
});
