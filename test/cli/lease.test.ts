import assert from 'node:assert/strict';
import { systemClock } from '../../resources/ambient/system-clock.ts';
import { Host } from '../../resources/kinds/host.ts';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { aHost } from '../harness/builders.ts';
import { CliServer } from '../harness/cli-server.ts';
import type { CliFolder, CliRun } from '../harness/run-cli.ts';
import type { TestServer } from '../harness/server.ts';

describe('coppice lease', () => {
  let server: TestServer;
  let folder: CliFolder;
  const held = new AsyncDisposableStack();
  const run = (...argv: string[]): Promise<CliRun> => folder.run(['lease', ...argv]);

  before(async () => {
    ({ server, folder } = held.use(await CliServer.start({ namespace: 'acme', duties: ['lease'] })));
    const made = { apiVersion: 'coppice.dev/v1', kind: 'Tenant', metadata: { name: 'acme' }, spec: {} };
    await server.client.resource<Tenant>(Tenant).create(made);
    for (const name of ['mac-1', 'mac-2']) await aMac(name, name === 'mac-1' ? 8 : 16);
  });
  after(() => held.disposeAsync());

  async function aMac(name: string, vcpus: number): Promise<void> {
    const { spec, status } = aHost({ vcpus });
    const hosts = server.client.resource<Host>(Host);
    await hosts.create({ apiVersion: 'coppice.dev/v1', kind: 'Host', metadata: { name }, spec });
    await hosts.patch(name, { status: { ...status, os: 'darwin' } }, { subresource: 'status' });
  }

  it('create makes one of what its flags say, and waits for its host when it is told to', async () => {
    const made = await run('create', 'ci', '--min-vcpus', '10', '--duration', '48h', '--wait', '--timeout', '50s');
    assert.equal(made.code, 0, made.stderr);
    assert.match(
      made.stdout,
      /^lease\.coppice\.dev\/ci created\nhost mac-2 is leased until 20\S+Z at least, for 0 USD an hour\n$/,
    );
    const lease = JSON.parse((await run('get', 'ci', '-o', 'json')).stdout);
    assert.deepEqual(lease.spec, { minVCPUs: 10, duration: '48h', releasePolicy: 'Refuse' });
  });

  it('create without a name has one made, and says why it has no host when its time is up', async () => {
    const waited = await run('create', '--host', 'mac-9', '--wait', '--timeout', '2s');
    assert.equal(waited.code, 1);
    assert.match(waited.stdout, /^lease\.coppice\.dev\/lease-\w{5} created\n$/);
    assert.match(waited.stderr, /^error: lease lease-\w{5} has no host yet: there is no host mac-9\n$/);
  });

  it('list and get show them as tables', async () => {
    const table = await folder.run(['lease', 'list'], { tty: true });
    assert.match(table.stdout, /^NAME +PHASE +HOST +EARLIEST END +ENDS +SET +AGE\nci +Active +mac-2 +20\S+Z +20\S+Z /);
    assert.match((await folder.run(['lease', 'get', 'ci'], { tty: true })).stdout, /\nci +Active +mac-2 /);
    assert.equal((await run('list', 'ci')).code, 1);
  });

  it('release asks first, tells the time when it is too early, and takes a later instant', async () => {
    const unasked = await run('release', 'ci');
    assert.deepEqual([unasked.code, unasked.stdout], [1, '']);
    assert.match(unasked.stderr, /^error: this ends lease ci .*\nhint: add -y/);
    const early = await run('release', 'ci', '-y');
    assert.equal(early.code, 1);
    assert.match(early.stderr, /its minimum term ends at 20\S+Z; .*WhenAllowed/);
    assert.match((await run('release', 'ci', '--at', 'noon', '-y')).stderr, /^error: --at noon is not an instant/);
    const at = new Date(systemClock.now() + 30 * 3_600_000).toISOString().replace(/\.\d+Z/, 'Z');
    const later = await run('release', 'lease/ci', '--at', at, '-y');
    assert.deepEqual([later.code, later.stdout], [0, `lease.coppice.dev/ci ends at ${at}\n`]);
  });

  it('release by force waits until it has ended, and says until when it is billed', async () => {
    assert.match((await run('release', 'ci', '--force', '--at', '2030-01-01T00:00:00Z', '-y')).stderr, /without --at/);
    const forced = await run('release', 'ci', '--force', '-y', '--timeout', '50s');
    assert.equal(forced.code, 0, forced.stderr);
    assert.match(forced.stdout, /^lease\.coppice\.dev\/ci ended, billed until 20\S+Z\n$/);
    const { status } = JSON.parse((await run('get', 'ci', '-o', 'json')).stdout);
    assert.deepEqual([status.phase, status.billedUntil], ['Ended', status.earliestEnd]);
  });
});
