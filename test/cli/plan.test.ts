import assert from 'node:assert/strict';
import { Host } from '../../resources/kinds/host.ts';
import { aHost } from '../harness/builders.ts';
import { CliServer } from '../harness/cli-server.ts';
import type { CliFolder } from '../harness/run-cli.ts';
import type { TestServer } from '../harness/server.ts';

const coppice = { apiVersion: 'coppice.dev/v1' } as const;

const PRICES = `apiVersion: coppice.dev/v1
kind: PriceList
metadata: {name: default}
spec: {macPerHour: "0.85", vmPerHour: "0.05", volumeGiBPerHour: "0.0001"}
`;
const TEAM = `apiVersion: v1
kind: Namespace
metadata: {name: acme}
---
apiVersion: coppice.dev/v1
kind: Image
metadata: {name: debian}
spec: {guestOS: linux, source: {path: debian}}
---
apiVersion: coppice.dev/v1
kind: Lease
metadata: {name: ci, namespace: acme}
spec: {minVCPUs: 8, releasePolicy: WhenAllowed}
---
apiVersion: coppice.dev/v1
kind: LeaseSet
metadata: {name: more, namespace: acme}
spec: {template: {spec: {minVCPUs: 8}}}
---
apiVersion: coppice.dev/v1
kind: Volume
metadata: {name: data, namespace: acme}
spec: {size: 50Gi}
---
apiVersion: coppice.dev/v1
kind: Tenant
metadata: {name: acme}
spec: {displayName: Acme, quota: {maxVMs: 5}, budget: {monthly: "1000"}}
---
apiVersion: v1
kind: Secret
metadata: {name: key, namespace: acme}
stringData: {password: hush}
`;

describe('coppice plan', () => {
  let server: TestServer;
  let folder: CliFolder;
  let writeOwner: (token: string) => Promise<string>;
  const held = new AsyncDisposableStack();

  before(async () => {
    const started = held.use(await CliServer.start({ namespace: 'acme' }));
    ({ server, folder } = started);
    writeOwner = (token) => folder.write('owner', started.kubeconfig(token));
    for (const name of ['mac-1', 'mac-2']) {
      const { spec, status } = aHost({ name, vcpus: 8, memory: '14Gi' });
      const hosts = server.client.resource<Host>(Host);
      await hosts.create({ ...coppice, kind: 'Host', metadata: { name }, spec });
      await hosts.patch(name, { status: { ...status, os: 'darwin' } }, { subresource: 'status' });
    }
    await folder.write('team/a-prices.yaml', PRICES);
    await folder.write('team/b-team.yaml', TEAM);
  });
  after(() => held.disposeAsync());

  const revision = () => server.store.revision();

  it('tells what an empty server would come to have and what that costs, and changes nothing', async () => {
    const before = revision();
    const { code, stdout, stderr } = await folder.run(['plan', '-f', 'team']);
    assert.deepEqual([code, stderr], [2, '']);
    assert.equal(revision(), before);
    const [objects = '', costs = '', sums = ''] = stdout.split('\n\n');
    assert.equal(
      objects,
      [
        'pricelist.coppice.dev/default configured',
        '  spec.macPerHour:        0 → 0.85',
        '  spec.vmPerHour:         0 → 0.05',
        '  spec.volumeGiBPerHour:  0 → 0.0001',
        'namespace/acme created',
        'image.coppice.dev/debian created',
        'lease.coppice.dev/ci created (in acme)',
        'leaseset.coppice.dev/more created (in acme)',
        'volume.coppice.dev/data created (in acme)',
        'tenant.coppice.dev/acme created',
        'secret/key created (in acme)',
      ].join('\n'),
    );
    assert.match(costs, /^COSTS +NAMESPACE +USD AN HOUR +A DAY +AT ONCE\n/);
    assert.match(costs, /^Lease\/ci +acme +0\.85 +20\.40 +20\.40 +mac-1: 24 h at 0\.85 at least$/m);
    assert.match(
      costs,
      /^LeaseSet\/more +acme +0\.85 +20\.40 +20\.40 +1 at all times; new, for 24 h at least: mac-2 at 0\.85$/m,
    );
    assert.match(costs, /^Volume\/data +acme +0\.005 +0\.12 +- /m);
    assert.equal(
      sums,
      'Plan: 7 created, 1 configured.\nIt costs 1.705 USD an hour, 40.92 USD a day; 40.80 USD are owed at once.\n' +
        'A month of acme comes to 1244.65 USD (730 h at 1.705), of a budget of 1000.00: 244.65 over it.\n',
    );
  });

  it('names the file and the field of what is wrong, in a namespace that is yet to come too', async () => {
    const wrong = TEAM.replace('releasePolicy: WhenAllowed', 'releasePolicy: Never').replace(
      'size: 50Gi',
      'size: much',
    );
    await folder.write('wrong.yaml', wrong);
    const { code, stdout, stderr } = await folder.run(['plan', '-f', 'wrong.yaml']);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^error: wrong\.yaml, document 3, line 10: .*spec\.releasePolicy: Unsupported value: "Never"/m,
    );
    assert.match(stderr, /^error: wrong\.yaml, document 5, line 20: .*spec\.size: Invalid value/m);
    assert.match(stdout, /^Plan: 5 created, 2 refused\.$/m);
    assert.match(stdout, /^lease\.coppice\.dev\/ci refused \(in acme\): .*spec\.releasePolicy: Unsupported/m);
    assert.match(stdout, /^volume\.coppice\.dev\/data refused \(in acme\): .*spec\.size: Invalid value/m);
  });

  it('refuses what nothing brings a namespace for, as apply would', async () => {
    await folder.write('lost.yaml', TEAM.slice(TEAM.indexOf('kind: Image') - 27));
    const { code, stderr } = await folder.run(['plan', '-f', 'lost.yaml']);
    assert.equal(code, 1);
    assert.match(stderr, /^error: lost\.yaml, document 2, .*namespaces "acme" not found$/m);
  });

  it('ends with 0 once it is applied, and with 2 when a field differs, old and new', async () => {
    assert.equal((await folder.run(['apply', '-f', 'team'])).code, 0);
    const same = await folder.run(['plan', '-f', 'team']);
    assert.deepEqual([same.code, same.stderr], [0, '']);
    assert.match(same.stdout, /Plan: 8 unchanged\.\nIt changes nothing of what is paid\.\n$/);
    await folder.write(
      'more.yaml',
      TEAM.replace('maxVMs: 5', 'maxVMs: 9, maxVCPUs: 8').replace('50Gi', '80Gi').replace('hush', 'loud'),
    );
    const more = await folder.run(['plan', '-f', 'more.yaml']);
    assert.equal(more.code, 2);
    assert.match(
      more.stdout,
      /^tenant\.coppice\.dev\/acme configured\n {2}spec\.quota\.maxVMs: +5 → 9\n {2}spec\.quota\.maxVCPUs: +\(not set\) → 8$/m,
    );
    assert.match(more.stdout, /^volume\.coppice\.dev\/data configured \(in acme\)\n {2}spec\.size: +50Gi → 80Gi$/m);
    assert.match(more.stdout, /^Volume\/data +acme +0\.003 +0\.07 +- /m);
    assert.match(more.stdout, /^ {2}data\.password: +\*\*\* \(before\) → \*\*\* \(after\)$/m);
    assert.doesNotMatch(more.stdout, /aHVzaA|bG91ZA|hush|loud/);
  });

  it('asks the server to merge when told so, and is refused what others own', async () => {
    const argv = ['plan', '-f', 'more.yaml', '--server-side', '--field-manager', 'else'];
    const refused = await folder.run(argv);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /conflict with "coppice".*\.spec\.quota\.maxVMs/s);
    assert.equal((await folder.run([...argv, '--force-conflicts'])).code, 2);
    assert.equal((await folder.run(['plan', '-f', 'team', '--server-side'])).code, 0);
  });

  it('is for programs too, with amounts to the millionth', async () => {
    const { code, stdout } = await folder.run(['plan', '-f', 'more.yaml', '-o', 'json']);
    assert.equal(code, 2);
    const { changes, cost } = JSON.parse(stdout);
    const tenant = changes.find((change: { kind: string }) => change.kind === 'Tenant');
    assert.deepEqual(tenant, {
      apiVersion: 'coppice.dev/v1',
      kind: 'Tenant',
      type: 'tenant.coppice.dev',
      name: 'acme',
      action: 'configured',
      file: 'more.yaml',
      fields: [
        { path: 'spec.quota.maxVMs', before: 5, after: 9 },
        { path: 'spec.quota.maxVCPUs', after: 8 },
      ],
    });
    const { lines, ...sums } = cost;
    assert.deepEqual(sums, {
      currency: 'USD',
      perHour: '0.003',
      perDay: '0.072',
      atOnce: '0',
      bound: 'exactly',
      atOnceBound: 'exactly',
      months: [{ tenant: 'acme', budget: '1000', perHour: '0.008', perMonth: '5.84', bound: 'atLeast' }],
    });
    assert.deepEqual(
      lines.map(({ kind, name, perHour }: { kind: string; name: string; perHour: string }) => [kind, name, perHour]),
      [['Volume', 'data', '0.003']],
    );
  });

  it('tells an owner, who sees no hosts, the least that it can be', async () => {
    const minted = await folder.run(['tenant', 'token', 'acme']);
    const owner = await writeOwner(minted.stdout.trim());
    const lease = 'apiVersion: coppice.dev/v1\nkind: Lease\nmetadata: {name: own}\n';
    const { code, stdout, stderr } = await folder.run(['plan', '-f', '-', '--kubeconfig', owner], { stdin: lease });
    assert.deepEqual([code, stderr], [2, '']);
    assert.match(stdout, /^Lease\/own +acme +≥ 0\.85 +20\.40 +≥ 20\.40 +24 h at 0\.85 at least: the least that/m);
  });

  const usages: [string[], RegExp][] = [
    [['plan'], /say what to plan with -f or -k/],
    [['plan', 'lease.yaml', '-f', 'team'], /plan takes no argument, but got "lease.yaml"; files follow -f/],
    [
      ['plan', '-f', 'team', '--prune', '--applyset', 'fleet'],
      /say in which namespace with -n, or name another parent/,
    ],
    [['plan', '-f', 'pki'], /pki: the folder has no file that ends in \.yaml, .*\nhint: with -R/],
    [['plan', '-f', 'nothing.yaml'], /nothing\.yaml: there is no such file/],
    [['plan', '-f', 'team', '-o', 'yaml'], /--output may be json, and not yaml/],
  ];
  for (const [argv, says] of usages) {
    it(`refuses ${argv.join(' ')}`, async () => {
      const { code, stdout, stderr } = await folder.run(argv);
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr, says);
    });
  }
});
