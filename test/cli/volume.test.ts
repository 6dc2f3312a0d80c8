import assert from 'node:assert/strict';
import { Host } from '../../resources/kinds/host.ts';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { Volume } from '../../resources/kinds/volume.ts';
import { aHostWithDisk } from '../builders/volume.ts';
import { CliServer } from '../harness/cli-server.ts';
import type { CliFolder, CliRun } from '../harness/run-cli.ts';
import type { TestServer } from '../harness/server.ts';
import { until } from '../harness/until.ts';

describe('coppice volume', () => {
  let server: TestServer;
  let folder: CliFolder;
  const held = new AsyncDisposableStack();
  const run = (...argv: string[]): Promise<CliRun> => folder.run(['volume', ...argv]);
  const volumes = () => server.client.resource<Volume>(Volume, 'acme');

  before(async () => {
    ({ server, folder } = held.use(await CliServer.start({ namespace: 'acme', duties: ['volume'] })));
    const made = { apiVersion: 'coppice.dev/v1', kind: 'Tenant', metadata: { name: 'acme' }, spec: {} };
    await server.client.resource<Tenant>(Tenant).create(made);
    const { spec, status } = aHostWithDisk();
    const hosts = server.client.resource<Host>(Host);
    await hosts.create({ apiVersion: 'coppice.dev/v1', kind: 'Host', metadata: { name: 'mac-1' }, spec });
    await hosts.patch('mac-1', { status: { ...status, os: 'darwin' } }, { subresource: 'status' });
  });
  after(() => held.disposeAsync());

  /** As the nodelet does that has the file. */
  async function hasFile(name: string, size: string): Promise<void> {
    const lastTransitionTime = '2026-01-01T00:00:00Z';
    const file = { type: 'FileReady', status: 'True', reason: 'FileThere', message: '', lastTransitionTime };
    const { status } = await volumes().get(name);
    const others = (status?.conditions ?? []).filter(({ type }) => type !== 'FileReady');
    await volumes().patch(name, { status: { size, conditions: [...others, file] } }, { subresource: 'status' });
  }

  it('create says what it waits for when it is not there in time, and makes nothing of what is wrong', async () => {
    const none = await run('create', 'data');
    assert.equal(none.code, 1);
    assert.match(none.stderr, /say how large it is: --size 50Gi/);
    const small = await run('create', 'data', '--size', '50');
    assert.match(small.stderr, /a volume has from 1Gi to 2048Gi/);
    const late = await run('create', 'data', '--size', '50Gi', '--timeout', '3s');
    assert.deepEqual([late.code, late.stdout], [1, 'volume.coppice.dev/data created\n']);
    assert.match(
      late.stderr,
      /^error: volume data is not there yet: the file of volume data is being made on host mac-1/,
    );
  });

  it('list shows them, as volumes does', async () => {
    await hasFile('data', '50Gi');
    for (const words of [
      ['volume', 'list', '-o', 'table'],
      ['volumes', '-o', 'table'],
      ['volumes', '-A', '-o', 'table'],
    ])
      assert.match((await folder.run(words)).stdout, /data +\w+ +\w* +50Gi +mac-1/);
    assert.equal((await folder.run(['volumes', 'data'])).code, 1);
  });

  it('resize asks, waits for the file, and passes on a refusal', async () => {
    const growing = run('resize', 'data', '--size', '60Gi', '--timeout', '50s');
    await until('it is asked for', async () => (await volumes().get('data')).spec.size === '60Gi');
    await hasFile('data', '60Gi');
    const grown = await growing;
    assert.equal(grown.code, 0, grown.stderr);
    assert.match(grown.stdout, /^volume\.coppice\.dev\/data has 60Gi; grow the file system/);
    const less = await run('resize', 'data', '--size', '20Gi');
    assert.equal(less.code, 1);
    assert.match(less.stderr, /it has 60Gi and 20Gi was asked for: volumes only grow/);
  });

  it('in the way of a scrub are told at once, since to wait for them is of no use', async () => {
    const hosts = server.client.resource<Host>(Host);
    const scrubbing = folder.run(['scrub', 'mac-1', '--timeout', '20s']);
    await until('it is asked for', async () => (await hosts.get('mac-1')).spec.scrub !== undefined);
    const { requestedAt = '' } = (await hosts.get('mac-1')).spec.scrub ?? {};
    const scrub = { requestedAt, outcome: 'Waiting', message: 'it lies there', volumesInTheWay: ['acme/data'] };
    await hosts.patch('mac-1', { status: { scrub } }, { subresource: 'status' });
    const { code, stderr } = await scrubbing;
    assert.equal(code, 1);
    assert.match(stderr, /^error: mac-1 is not scrubbed: it lies there\n/);
    await hosts.patch('mac-1', { spec: { scrub: null } });
  });

  it('delete asks on a terminal, and needs -y elsewhere', async () => {
    const unsaid = await run('delete', 'data');
    assert.equal(unsaid.code, 1);
    assert.match(unsaid.stderr, /this deletes volume data and all that is on it/);
    assert.equal((await volumes().get('data')).metadata.deletionTimestamp, undefined);
    const several = await run('delete', 'data', 'vol/none');
    assert.match(several.stderr, /this deletes 2 volumes \(data, none\) and all that is on them/);
    const said = await run('delete', 'data', '-y', '--no-wait');
    assert.equal(said.code, 0, said.stderr);
    assert.notEqual((await volumes().get('data')).metadata.deletionTimestamp, undefined);
  });
});
