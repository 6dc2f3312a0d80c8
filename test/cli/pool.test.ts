import assert from 'node:assert/strict';
import { Pool } from '../../resources/kinds/pool.ts';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { CliServer } from '../harness/cli-server.ts';
import type { CliFolder, CliRun } from '../harness/run-cli.ts';
import type { TestServer } from '../harness/server.ts';

describe('coppice pool', () => {
  let server: TestServer;
  let folder: CliFolder;
  const held = new AsyncDisposableStack();
  const run = (...argv: string[]): Promise<CliRun> => folder.run(['pool', ...argv]);
  const pools = () => server.client.resource<Pool>(Pool, 'acme');

  before(async () => {
    ({ server, folder } = held.use(await CliServer.start({ namespace: 'acme' })));
    const tenant = { apiVersion: 'coppice.dev/v1', kind: 'Tenant', metadata: { name: 'acme' }, spec: {} };
    await server.client.resource<Tenant>(Tenant).create(tenant);
  });
  after(() => held.disposeAsync());

  it('create makes one of a size by its name or its parts', async () => {
    const made = await run('create', 'warm', '--image', 'tiny', '--vcpus', '2', '--memory', '4Gi', '--replicas', '3');
    assert.deepEqual([made.code, made.stdout], [0, 'pool.coppice.dev/warm created\n']);
    const { spec } = await pools().get('warm');
    assert.deepEqual(spec, { image: 'tiny', class: 'flex', replicas: 3, size: { vcpus: 2, memory: '4Gi' } });
    const named = await run('create', 'pool/cool', '--image=tiny', '--size=small', '--class=reserved', '--shared');
    assert.equal(named.code, 0, named.stderr);
    const cool = { image: 'tiny', class: 'reserved', replicas: 1, size: 'small', shared: true };
    assert.deepEqual((await pools().get('cool')).spec, cool);
  });

  it('create is told what it cannot do', async () => {
    const said = async (...argv: string[]) => {
      const { code, stderr } = await run('create', ...argv);
      return [code, stderr.split('\n')[0]];
    };
    assert.deepEqual(await said('--image', 'tiny'), [1, 'error: name the pool']);
    assert.deepEqual(await said('a', 'b', '--image', 'tiny'), [1, 'error: one pool at a time, but got "a" and "b"']);
    assert.deepEqual(await said('a', '--image', 'tiny', '--size', 'small', '--vcpus', '2'), [
      1,
      'error: --size names a size, so it goes without --vcpus, --memory and --disk',
    ]);
    assert.match((await said('a'.repeat(58), '--image', 'tiny')).join(' '), /no more than 57 characters/);
    assert.match((await said('a', '--image', 'tiny', '--size', 'huge')).join(' '), /must be small, medium, large/);
  });

  it('list shows how many are up', async () => {
    const status = { wanted: 3, ready: 2, warming: 1, claimed: 7 };
    await pools().patch('warm', { status }, { subresource: 'status' });
    const { stdout } = await run('list', '-o', 'table');
    assert.match(stdout, /^NAME +IMAGE +WANTED +READY +WARMING +CLAIMED +WHY +AGE$/m);
    assert.match(stdout, /^warm +tiny +3 +2 +1 +7 /m);
  });

  it('scale sets how many are kept, and with --wait says what stands in the way', async () => {
    const { code, stdout } = await run('scale', 'pool/warm', '5');
    assert.deepEqual([code, stdout], [0, 'pool.coppice.dev/warm scaled\n']);
    assert.equal((await pools().get('warm')).spec.replicas, 5);
    const ready = { type: 'Ready', status: 'False', reason: 'NoHostFits', message: '2 of 5 members are up; no room' };
    const conditions = [{ ...ready, lastTransitionTime: '2026-01-01T00:00:00Z' }];
    await pools().patch('warm', { status: { conditions } }, { subresource: 'status' });
    const waited = await run('scale', 'warm', '5', '--wait', '--timeout', '1s');
    assert.deepEqual(
      [waited.code, waited.stderr],
      [1, 'error: pool warm is not warm yet: 2 of 5 members are up; no room\n'],
    );
    for (const words of [['warm'], ['warm', 'many'], ['warm', '1', '2']])
      assert.match((await run('scale', ...words)).stderr, /^error: say how many members, as a whole number/);
  });

  it('scale with --wait ends when that many are up', async () => {
    const { metadata } = await pools().get('warm');
    const waiting = run('scale', 'warm', '2', '--wait', '--timeout', '60s');
    const status = { wanted: 2, ready: 2, observedGeneration: (metadata.generation ?? 0) + 1 };
    await pools().patch('warm', { status }, { subresource: 'status' });
    const { code, stdout } = await waiting;
    assert.deepEqual([code, stdout], [0, 'pool.coppice.dev/warm scaled\n2 of 2 members are up\n']);
  });

  it('delete asks first, and deletes', async () => {
    assert.match((await run('delete', 'warm')).stderr, /-y/);
    const { code, stdout } = await run('delete', 'warm', 'pool/cool', '-y');
    assert.deepEqual([code, stdout], [0, 'pool.coppice.dev "warm" deleted\npool.coppice.dev "cool" deleted\n']);
    assert.match((await run('delete')).stderr, /^error: name the pool/);
  });
});
