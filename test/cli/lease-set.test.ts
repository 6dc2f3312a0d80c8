import assert from 'node:assert/strict';
import { Host } from '../../resources/kinds/host.ts';
import { LeaseSet } from '../../resources/kinds/lease-set.ts';
import { PriceList } from '../../resources/kinds/price-list.ts';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { aHost } from '../harness/builders.ts';
import { CliServer } from '../harness/cli-server.ts';
import type { CliFolder, CliRun } from '../harness/run-cli.ts';
import type { TestServer } from '../harness/server.ts';

const DUTIES = ['lease', 'leaseset'] as const;

describe('coppice and sets of leases', () => {
  let server: TestServer;
  let folder: CliFolder;
  const held = new AsyncDisposableStack();
  const run = (...argv: string[]): Promise<CliRun> => folder.run(argv);

  before(async () => {
    ({ server, folder } = held.use(await CliServer.start({ namespace: 'acme', duties: DUTIES })));
    const of = (kind: string, name: string, spec: object) => ({
      apiVersion: 'coppice.dev/v1',
      kind,
      metadata: { name },
      spec,
    });
    await server.client.resource<Tenant>(Tenant).create(of('Tenant', 'acme', {}) as never);
    await server.client.resource<PriceList>(PriceList).patch('default', { spec: { macPerHour: '36000' } });
    for (const name of ['mac-1', 'mac-2', 'mac-3']) {
      const { spec, status } = aHost();
      const hosts = server.client.resource<Host>(Host);
      await hosts.create({ apiVersion: 'coppice.dev/v1', kind: 'Host', metadata: { name }, spec });
      await hosts.patch(name, { status: { ...status, os: 'darwin' } }, { subresource: 'status' });
    }
    const template = { spec: { releasePolicy: 'Refuse' as const } };
    for (const name of ['builders', 'testers']) {
      const set = { ...of('LeaseSet', name, {}), spec: { replicas: 0, template } };
      await server.client.resource<LeaseSet>(LeaseSet, 'acme').create(set);
    }
  });
  after(() => held.disposeAsync());

  const replicas = async (name: string) =>
    (await server.client.resource<LeaseSet>(LeaseSet, 'acme').get(name)).spec.replicas;

  it('scale sets how many there are to be: of one, of several, of all, by label, and of what a file names', async () => {
    const { code, stdout } = await run('scale', 'leaseset/builders', '--replicas', '1');
    assert.deepEqual([code, stdout], [0, 'leaseset.coppice.dev/builders scaled\n']);
    assert.equal(await replicas('builders'), 1);
    const both = await run('scale', '--replicas=2', 'lset', 'builders', 'testers', '--dry-run=server');
    assert.equal(
      both.stdout,
      'leaseset.coppice.dev/builders scaled (server dry run)\nleaseset.coppice.dev/testers scaled (server dry run)\n',
    );
    assert.deepEqual([await replicas('builders'), await replicas('testers')], [1, 0]);
    const file = await folder.write(
      'set.yaml',
      'apiVersion: coppice.dev/v1\nkind: LeaseSet\nmetadata: {name: testers}\n',
    );
    assert.equal((await run('scale', '-f', file, '--replicas', '1')).code, 0);
    assert.deepEqual([await replicas('builders'), await replicas('testers')], [1, 1]);
    assert.equal((await run('scale', 'leasesets', '--all', '--replicas', '0')).code, 0);
    assert.deepEqual([await replicas('builders'), await replicas('testers')], [0, 0]);
    assert.match((await run('scale', 'leasesets', '--replicas', '0')).stderr, /name objects, or say --all or -l/);
    assert.match(
      (await run('scale', 'leasesets', '-l', 'a=b', '--replicas', '0')).stderr,
      /no objects passed to scale/,
    );
  });

  it('scale changes nothing where the number is another, or none, and says so', async () => {
    await run('scale', 'leaseset/builders', '--replicas', '1');
    const other = await run('scale', 'leaseset/builders', '--current-replicas', '3', '--replicas', '2');
    assert.deepEqual(
      [other.code, other.stderr],
      [1, 'error: leaseset.coppice.dev/builders is to have 1 replicas, not 3\n'],
    );
    assert.equal((await run('scale', 'leaseset/builders', '--current-replicas', '1', '--replicas', '0')).code, 0);
    assert.equal(await replicas('builders'), 0);
    for (const [argv, why] of [
      [['scale', 'leaseset/builders'], /replicas/],
      [['scale', 'leaseset/builders', '--replicas=-1'], /replicas/],
      [['scale', 'leaseset/builders', '--replicas=1001'], /less than or equal to 1000/],
      [['scale', 'leaseset/nobody', '--replicas=1'], /leasesets\.coppice\.dev "nobody" not found/],
      [
        ['scale', 'tenant/acme', '--replicas=1'],
        /tenant\.coppice\.dev\/acme cannot be scaled: a Tenant has no replicas/,
      ],
    ] as const) {
      const { code, stderr } = await run(...argv);
      assert.equal(code, 1, argv.join(' '));
      assert.match(stderr, why);
    }
    const some = await run('scale', 'leaseset/nobody', 'leaseset/builders', '--replicas', '1');
    assert.deepEqual(
      [some.code, some.stdout],
      [1, 'leaseset.coppice.dev/builders scaled\n'],
      'one that fails keeps no other from it',
    );
    await run('scale', 'leaseset/builders', '--replicas', '0');
  });

  it('get, wait and lease list show a set and its leases', async () => {
    await run('scale', 'leaseset/builders', '--replicas', '2');
    const waited = await run('wait', 'leaseset/builders', '--for', 'jsonpath={.status.active}=2', '--timeout', '60s');
    assert.equal(waited.code, 0, waited.stderr);
    const { stdout } = await run('get', 'leasesets', '-o', 'wide');
    assert.match(
      stdout,
      /^NAME +READY +WANTED +ACTIVE +PENDING +SURPLUS +NEXT RELEASE +WHY +AGE\nbuilders +True +2 +2 +0 +0 +\d+\w+\n/,
    );
    const list = await run('lease', 'list', '-o', 'table');
    assert.match(
      list.stdout,
      /^NAME +PHASE +HOST +EARLIEST END +ENDS +SET +AGE\nbuilders-\w{5} +Active +mac-\d +\S+Z +builders +\d+s\n/,
    );
  });

  it('lease idle shows the leases without a VM: since when, what that costs, and when they can end', async () => {
    const table = await run('lease', 'idle', '-o', 'table');
    assert.match(
      table.stdout,
      /^NAME +SET +HOST +IDLE +PRICE\/H +COST +CAN END\n(?:testers.*\n)?builders-\w{5} +builders +mac-\d +\d+m?s +36000 USD +\d+\.\d\d +in 2[34]h\n/,
    );
    const { items } = JSON.parse((await run('lease', 'idle', '-A')).stdout) as { items: Record<string, string>[] };
    assert.ok(items.length >= 2);
    for (const { idleSince = '', cost, namespace } of items) {
      assert.equal(namespace, 'acme');
      // Ten an hour's second: a second of it is ten.
      const secondsUntil = (ms: number) => (ms - Date.parse(idleSince)) / 1000;
      assert.ok(
        Number(cost) > 0 && Number(cost) <= Math.ceil(secondsUntil(Date.now())) * 10,
        `${cost} since ${idleSince}`,
      );
    }
  });
});
