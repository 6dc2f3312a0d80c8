import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { Condition } from '../../../../resources/meta/condition.ts';
import { EtcdServer, needEtcd } from '../../../harness/etcd-server.ts';
import { CliFolder, type CliRun } from '../../../harness/run-cli.ts';
import { until } from '../../../harness/until.ts';
import { UpProcess } from '../../up/up-process.ts';

const START_MS = 60_000;
const SERVERS = ['a', 'b'] as const;

const FLEET = `
apiVersion: coppice.dev/v1
kind: Tenant
metadata: {name: demo}
---
apiVersion: coppice.dev/v1
kind: Image
metadata: {name: tiny-linux}
spec: {guestOS: linux, source: {path: tiny-linux}}
`;
const vm = (power: string) => `
apiVersion: coppice.dev/v1
kind: VM
metadata: {name: hello, namespace: demo}
spec: {image: tiny-linux, size: {vcpus: 1, memory: 128Mi}, power: ${power}}
`;

describe('coppice nodelet', function () {
  this.timeout(300_000);
  let running: AsyncDisposableStack;
  let folder: CliFolder;
  let servers: ReadonlyMap<string, UpProcess>;
  let urls: readonly string[];

  before(async function () {
    needEtcd(this);
    running = new AsyncDisposableStack();
    const etcd = running.use(await EtcdServer.start());
    folder = running.use(await CliFolder.make());
    const stored = ['--etcd', etcd.endpoint, '--pki', join(folder.path, 'keys'), '--port', '0'];
    servers = new Map(
      SERVERS.map((name) => [
        name,
        running.use(new UpProcess(homeOf(name), [...stored, '--name', name], {}, 'apiserver')),
      ]),
    );
    const started = await Promise.all([...servers.values()].map((server) => server.says(/ on (https:\S+),/, START_MS)));
    urls = started.map(([, url = '']) => url);
    const addresses = urls.flatMap((url) => ['--server', url]);
    const controllers = running.use(new UpProcess(homeOf('a'), addresses, {}, 'controllers'));
    await controllers.says(/^leads /m, START_MS);
    assert.equal((await apply('a', FLEET)).code, 0);
  });
  after(() => running?.disposeAsync());

  const homeOf = (name: string) => join(folder.path, name);
  const run = (server: string, argv: readonly string[], options = {}): Promise<CliRun> =>
    folder.run(['--kubeconfig', join(homeOf(server), 'kubeconfig'), ...argv], options);
  const apply = async (server: string, text: string) =>
    run(server, ['apply', '-f', await folder.write('applied.yaml', text)]);
  const get = async (server: string, ...what: string[]) => {
    const { code, stdout, stderr } = await run(server, ['get', ...what, '-o', 'json']);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };
  const exec = (server: string, ...command: string[]) => run(server, ['exec', '-n', 'demo', 'hello', '--', ...command]);
  const mint = async (name: string) => {
    const { stdout, stderr } = await run('a', ['host', 'token', name, '--group', 'far', '--label', 'room=attic']);
    assert.match(stdout, /^\S+\n$/, stderr);
    return stdout.trim();
  };
  const start = (home: string, more: readonly string[] = []) =>
    running.use(new UpProcess(homeOf(home), more, {}, 'nodelet'));
  const holder = async (server: string): Promise<string> =>
    (await get(server, 'leases.coordination.k8s.io', 'host-far', '-n', 'coppice-system')).spec.holderIdentity;
  const readyOf = (object: { status?: { conditions?: Condition[] } }) =>
    object.status?.conditions?.find(({ type }) => type === 'Ready');

  it('refuses to start without a server, without a token, and with what is no token', async () => {
    const cases: [string[], RegExp][] = [
      [[], /knows no server/],
      [['--server', urls[0] ?? ''], /has no host/],
      [['--server', 'http://127.0.0.1:1'], /not https:/],
      [['--server', urls[0] ?? '', '--token', 'secret-but-no-token'], /--token: number 1 is no token/],
      [['--server', urls[0] ?? '', '--token-file', 'none'], /none is not there/],
    ];
    for (const [args, message] of cases) {
      const process = start('empty', args);
      assert.equal((await process.ended).code, 1);
      assert.match(process.stderr, message);
      assert.doesNotMatch(process.stderr, /secret-but/);
    }
  });

  it('mints no token for a name, a time or a label that is none, and leaves a Host in its group', async () => {
    const cases: [string[], RegExp][] = [
      [[], /name one host/],
      [['one', 'two'], /name one host/],
      [['Big_Mac'], /cannot be called "Big_Mac"/],
      [['x'.repeat(62), '--count', '10'], /cannot be called/],
      [['mac', '--expires', '25h'], /--expires is "25h"/],
      [['mac', '--expires', 'soon'], /--expires is "soon"/],
      [['mac', '--label', 'attic'], /--label is "attic"/],
    ];
    for (const [words, message] of cases) {
      const { code, stdout, stderr } = await run('a', ['host', 'token', ...words]);
      assert.deepEqual([code, stdout], [1, ''], stderr);
      assert.match(stderr, message);
    }
    assert.equal((await run('a', ['get', 'host', 'mac', '-o', 'name'])).code, 1);
    const many = await run('b', ['host', 'token', 'rack', '--count', '10', '--group', 'one', '--expires', '5m']);
    const lines = many.stdout.trim().split('\n');
    assert.deepEqual(
      lines.map((line) => line.split('.')[0]),
      Array.from({ length: 10 }, (_, i) => `rack-${i + 1}`),
    );
    const again = await run('a', ['host', 'token', 'rack-3', '--group', 'two']);
    assert.match(again.stderr, /Host rack-3 is in group one already, and stays there/);
    assert.notEqual(again.stdout.trim(), lines[2]);
  });

  it('enrolls its host, and goes on at the other server when the one that holds its streams is killed', async () => {
    const token = await mint('far');
    const file = await folder.write('token', `${token}\n`);
    const args = ['--server', urls.join(','), '--token-file', file, '--driver', 'sim'];
    const nodelet = start('far', args);
    await nodelet.says(/^up in /m, START_MS);
    assert.equal((await apply('a', vm('Running'))).code, 0);
    await until('the VM is ready', async () => readyOf(await get('a', 'vm', 'hello', '-n', 'demo'))?.status === 'True');
    const host = await get('a', 'host', 'far');
    assert.deepEqual([host.spec.group, host.metadata.labels.room], ['far', 'attic']);
    for (const server of SERVERS) assert.equal((await exec(server, 'uname')).stdout, 'Linux\n');

    const killed = await holder('a');
    const other = killed === 'a' ? 'b' : 'a';
    const stdin = new PassThrough();
    let echoed = '';
    const onStdout = (soFar: string) => {
      echoed = soFar;
    };
    const cat = run(other, ['exec', '-i', '-n', 'demo', 'hello', '--', 'cat'], { stdin, onStdout });
    stdin.write('over two servers\n');
    await until('it comes back', () => echoed === 'over two servers\n');
    const ready = readyOf(await get(other, 'host', 'far'));
    await servers.get(killed)?.end('SIGKILL');
    assert.equal((await cat).code, 255);
    await until('the other serves it', async () => (await exec(other, 'uname')).code === 0);
    assert.equal(await holder(other), other);
    assert.equal((await apply(other, vm('Stopped'))).code, 0);
    const stopped = async () => (await get(other, 'vm', 'hello', '-n', 'demo')).status.phase === 'Stopped';
    await until('the VM stops', stopped);
    assert.deepEqual(readyOf(await get(other, 'host', 'far')), ready, 'it was never judged lost');

    assert.equal((await apply(other, vm('Running'))).code, 0);
    await until('the VM runs again', async () => (await exec(other, 'uname')).code === 0);
    const guestOf = async () => (await get(other, 'vm', 'hello', '-n', 'demo')).status.guest;
    const guest = await guestOf();
    assert.ok(guest.id, JSON.stringify(guest));
    assert.deepEqual(await nodelet.end('SIGKILL'), { code: null, signal: 'SIGKILL' });
    // The token is of no use any more, and does no harm.
    const again = start('far', ['--token-file', file]);
    await again.says(/^up in /m, START_MS);
    await until('it is back', async () => (await exec(other, 'uname')).code === 0);
    assert.deepEqual(await guestOf(), guest);

    const thief = start('thief', args);
    assert.equal((await thief.ended).code, 1);
    assert.match(
      thief.stderr,
      /^error: host far was not enrolled: its token is not known, was used, or its time is over/m,
    );
    const twice = start('far');
    assert.equal((await twice.ended).code, 1);
    assert.match(twice.stderr, /already running on this home/);
    assert.deepEqual(await again.end('SIGTERM'), { code: 0, signal: null });
    assert.match(again.stdout, /stopped; guests keep running\n$/);
    const identity = join(homeOf('far'), 'hosts', 'far', 'identity.json');
    assert.equal(statSync(identity).mode & 0o777, 0o600);
    const secret = token.split('.')[2] ?? '';
    for (const path of [identity, join(homeOf('far'), 'nodelet.json'), join(homeOf('far'), 'log', 'coppice.log')])
      assert.ok(!readFileSync(path, 'utf8').includes(secret), path);
  });
});
