import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { EtcdServer, needEtcd } from '../../harness/etcd-server.ts';
import { CliFolder, type CliRun } from '../../harness/run-cli.ts';
import { until } from '../../harness/until.ts';
import { UpProcess } from '../up/up-process.ts';

const START_MS = 60_000;

describe('coppice apiserver', function () {
  this.timeout(240_000);
  let etcd: EtcdServer;
  let folder: CliFolder;
  let running: AsyncDisposableStack;

  before(function () {
    needEtcd(this);
  });
  beforeEach(async () => {
    running = new AsyncDisposableStack();
    etcd = running.use(await EtcdServer.start());
    folder = running.use(await CliFolder.make());
  });
  afterEach(() => running?.disposeAsync());

  const homeOf = (name: string) => join(folder.path, name);
  const kubeconfigOf = (name: string) => ['--kubeconfig', join(homeOf(name), 'kubeconfig')];
  const stored = () => ['--etcd', etcd.endpoint, '--pki', join(folder.path, 'keys')];
  const begin = (name: string, command: 'up' | 'apiserver', more: readonly string[] = []) => {
    const args = [...stored(), '--port', '0', ...more];
    return running.use(new UpProcess(homeOf(name), args, {}, command));
  };
  const run = (name: string, argv: readonly string[], options = {}): Promise<CliRun> =>
    folder.run([...kubeconfigOf(name), ...argv], options);
  const names = async (server: string, ...what: readonly string[]) =>
    (await run(server, ['get', ...what, '-o', 'name'])).stdout.trim().split('\n').sort();

  it('starts twice at once on nothing, and the two are one control plane', async () => {
    const servers = [begin('one', 'apiserver', ['--name', 'one']), begin('two', 'apiserver')];
    for (const server of servers) await server.says(/^up in /m, START_MS);
    const two = JSON.parse(readFileSync(join(homeOf('two'), 'server.json'), 'utf8')).name;
    const leases = async (from: string) =>
      (await names(from, 'leases.coordination.k8s.io', '-n', 'coppice-system')).filter((name) =>
        name.includes('/apiserver-'),
      );
    const both = ['one', two].map((name) => `lease.coordination.k8s.io/apiserver-${name}`).sort();
    for (const name of ['one', 'two']) assert.deepEqual(await leases(name), both);
    const tenant = await folder.write('t.yaml', 'apiVersion: coppice.dev/v1\nkind: Tenant\nmetadata: {name: blue}\n');
    assert.equal((await run('one', ['apply', '-f', tenant])).stdout, 'tenant.coppice.dev/blue created\n');
    assert.equal((await run('two', ['apply', '-f', tenant])).stdout, 'tenant.coppice.dev/blue unchanged\n');
    for (const [i, name] of ['one', 'two'].entries()) {
      assert.equal(servers[i]?.stderr, '', name);
      const log = join(homeOf(name), 'log', 'coppice.log');
      assert.doesNotMatch(readFileSync(log, 'utf8'), / error /, name);
      assert.deepEqual(readdirSync(join(homeOf(name), 'pki')).sort(), ['apiserver.crt', 'apiserver.key']);
    }
    const kubeconfigs = ['one', 'two'].map((name) => readFileSync(join(homeOf(name), 'kubeconfig'), 'utf8'));
    assert.equal(kubeconfigs.filter((text) => /^ {6}token: /m.test(text)).length, 1);
    assert.equal(kubeconfigs.filter((text) => /client-certificate-data: /.test(text)).length, 1);
    // A watch ends in order, and the server is no longer among the servers.
    const watch = run('one', ['get', 'tenants', '-w', '-o', 'name']);
    await until('it is watched', async () => (await names('one', 'tenants')).length === 1);
    assert.deepEqual(await servers[0]?.end('SIGTERM'), { code: 0, signal: null });
    await watch;
    assert.match(servers[0]?.stdout ?? '', /\nstopped\n$/);
    assert.deepEqual(await leases('two'), [`lease.coordination.k8s.io/apiserver-${two}`]);
  });

  it('gives exec and logs of hosts at another server, which break when that is killed and go on when it is back', async () => {
    const [up, server] = [begin('host', 'up', ['--driver', 'sim', '--hosts', '1']), begin('other', 'apiserver')];
    await Promise.all([up, server].map((process) => process.says(/^up in /m, START_MS)));
    const exec = (...command: string[]) => ['exec', '-n', 'demo', 'hello', '--', ...command];
    assert.deepEqual(await run('other', exec('uname')), { code: 0, stdout: 'Linux\n', stderr: '' });
    assert.equal((await run('other', exec('sh', '-c', 'exit 7'))).code, 7);

    const stdin = new PassThrough();
    let echoed = '';
    const onStdout = (soFar: string) => {
      echoed = soFar;
    };
    const cat = run('other', ['exec', '-i', '-n', 'demo', 'hello', '--', 'cat'], { stdin, onStdout });
    stdin.write('through another server\n');
    await until('it comes back', () => echoed === 'through another server\n');
    let log = '';
    const logs = run('other', ['logs', '-n', 'demo', 'hello', '-f'], { onStdout: (soFar: string) => (log = soFar) });
    await until('the log is told', () => log !== '');
    await up.end('SIGKILL');
    const broken = await cat;
    assert.equal(broken.code, 255, broken.stderr);
    assert.match(broken.stderr, /^error: the stream ended before the command did/);
    assert.notEqual((await logs).code, 0);

    const again = begin('host', 'up', ['--driver', 'sim', '--hosts', '1']);
    await again.says(/^up in /m, START_MS);
    assert.deepEqual(await run('other', exec('uname')), { code: 0, stdout: 'Linux\n', stderr: '' });
  });

  it('ends with exit code 70 when etcd holds another store than before', async () => {
    const server = begin('one', 'apiserver');
    await server.says(/^up in /m, START_MS);
    await etcd.wipe();
    assert.deepEqual(await server.ended, { code: 70, signal: null });
    assert.match(server.stderr, /^error: .*no longer holds the store/m);
    assert.ok(!existsSync(join(homeOf('one'), 'up.pid')));
  });

  it('does not start with keys of its own beside a server that has others', async () => {
    const one = begin('one', 'apiserver', ['--name', 'one']);
    await one.says(/^up in /m, START_MS);
    const report = ['leases.coordination.k8s.io', '-n', 'coppice-system', '-l', 'coppice.dev/key-report'];
    await until(
      'it tells its keys',
      async () => (await names('one', ...report)).length === 1 && (await names('one', ...report))[0] !== '',
    );
    const args = ['--etcd', etcd.endpoint, '--port', '0', '--name', 'two'];
    const two = running.use(new UpProcess(homeOf('two'), args, {}, 'apiserver'));
    assert.deepEqual(await two.ended, { code: 1, signal: null });
    assert.match(
      two.stderr,
      /^error: API server one serves the same store with other keys than those in \S+two\/pki\nhint: .*--pki/m,
    );
    assert.deepEqual(await names('one', ...report), ['lease.coordination.k8s.io/keys-one']);
  });

  it('says where etcd does not answer', async () => {
    await etcd.stop();
    const server = begin('one', 'apiserver');
    assert.deepEqual(await server.ended, { code: 1, signal: null });
    const at = new URL(etcd.endpoint).origin;
    assert.match(server.stderr, new RegExp(`^error: etcd does not answer at ${at}: connection refused\nhint: `));
  });
});
