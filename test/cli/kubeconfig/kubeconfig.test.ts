import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, rm, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { load } from 'js-yaml';
import { mergeKubeconfig } from '../../../cli/actions/kubeconfig.ts';
import type { Io } from '../../../cli/io.ts';
import { connectionOf } from '../../../cli/kubeconfig/connection.ts';
import { kubeconfigFiles, loadKubeconfig } from '../../../cli/kubeconfig/kubeconfig.ts';
import { CliFolder } from '../../harness/run-cli.ts';

const ioIn = (folder: CliFolder, env: Record<string, string>): Io => ({
  stdin: new PassThrough(),
  stdout: new PassThrough(),
  stderr: new PassThrough(),
  env,
  cwd: folder.path,
  userHome: join(folder.path, 'me'),
  signal: new AbortController().signal,
});
const base64 = (text: string) => Buffer.from(text).toString('base64');
const config = (user: object, cluster: object = {}) =>
  JSON.stringify({
    'current-context': 'x',
    clusters: [{ name: 'c', cluster: { server: 'https://h:1', ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [
      { name: 'x', context: { cluster: 'c', user: 'u', namespace: 'ns1' } },
      { name: 'y', context: { cluster: 'c', user: 'u' } },
    ],
  });

describe('the kubeconfig', () => {
  it('is no folder, and no device without an end', async function () {
    this.timeout(20_000);
    const folder = await CliFolder.make();
    const said = async (file: string) => (await folder.run(['get', 'hosts', '--kubeconfig', file])).stderr;
    assert.equal(await said(folder.path), `error: kubeconfig ${folder.path}: it is a folder\n`);
    if (existsSync('/dev/zero'))
      assert.equal(await said('/dev/zero'), 'error: kubeconfig /dev/zero: it is larger than 16 MiB, so it is none\n');
    await folder[Symbol.asyncDispose]();
  });

  let folder: CliFolder;
  beforeEach(async () => {
    folder = await CliFolder.make();
  });
  afterEach(() => folder[Symbol.asyncDispose]());

  const connect = async (text: string, context?: string) => {
    await folder.write('k', text);
    return connectionOf(await loadKubeconfig(ioIn(folder, {}), 'k'), context);
  };

  it('is the one of the flag, else of $KUBECONFIG, else of the home, else the usual one', async () => {
    const usual = [join(folder.path, 'me', '.kube', 'config')];
    const home = join(folder.path, 'home');
    assert.deepEqual(kubeconfigFiles(ioIn(folder, { COPPICE_HOME: home }), undefined), usual);
    const own = await folder.write('home/kubeconfig', '');
    assert.deepEqual(kubeconfigFiles(ioIn(folder, { COPPICE_HOME: home }), undefined), [own]);
    const listed = ioIn(folder, { COPPICE_HOME: home, KUBECONFIG: `/a::b` });
    assert.deepEqual(kubeconfigFiles(listed, undefined), ['/a', join(folder.path, 'b')]);
    assert.deepEqual(kubeconfigFiles(listed, 'f'), [join(folder.path, 'f')]);
  });

  it('may be several files, of which the first to name something wins', async () => {
    await folder.write(
      'a',
      JSON.stringify({ users: [{ name: 'u', user: { token: 'first' } }], 'current-context': 'x' }),
    );
    await folder.write('b', config({ token: 'second' }));
    const io = ioIn(folder, { KUBECONFIG: 'a:missing:b' });
    const { connection } = await connectionOf(await loadKubeconfig(io, undefined), undefined);
    assert.equal(await connection.authorization?.(), 'Bearer first');
    assert.equal(connection.server, 'https://h:1');
  });

  it('gives a token, inline or from a file that is read again', async () => {
    assert.equal(await (await connect(config({ token: 't' }))).connection.authorization?.(), 'Bearer t');
    await folder.write('token', 'one\n');
    const { connection } = await connect(config({ tokenFile: 'token' }));
    assert.equal(await connection.authorization?.(), 'Bearer one');
    await folder.write('token', 'two\n');
    assert.equal(await connection.authorization?.(), 'Bearer two');
  });

  it('gives a name and password', async () => {
    const { connection } = await connect(config({ username: 'me', password: 'pw' }));
    assert.equal(await connection.authorization?.(), `Basic ${base64('me:pw')}`);
  });

  it('gives certificates inline or from files beside it, and how to check the server', async () => {
    await folder.write('pki/ca.pem', 'CA');
    const { connection, namespace } = await connect(
      config(
        { 'client-certificate-data': base64('CERT'), 'client-key-data': base64('KEY') },
        { 'certificate-authority': 'pki/ca.pem', 'tls-server-name': 'other' },
      ),
    );
    const { ca, cert, key, serverName, insecure } = connection;
    assert.deepEqual(
      { ca, cert, key, serverName, insecure },
      { ca: 'CA', cert: 'CERT', key: 'KEY', serverName: 'other', insecure: undefined },
    );
    assert.equal(namespace, 'ns1');
    assert.equal((await connect(config({}, { 'insecure-skip-tls-verify': true }))).connection.insecure, true);
  });

  it('uses the context asked for, whose namespace is default when it names none', async () => {
    assert.equal((await connect(config({}), 'y')).namespace, 'default');
  });

  it('asks a credential plugin for a token', async () => {
    const plugin = { apiVersion: 'client.authentication.k8s.io/v1', command: 'sh', interactiveMode: 'Never' };
    const says = JSON.stringify({ apiVersion: plugin.apiVersion, kind: 'ExecCredential', status: { token: 'minted' } });
    const { connection } = await connect(config({ exec: { ...plugin, args: ['-c', `echo '${says}'`] } }));
    assert.equal(await connection.authorization?.(), 'Bearer minted');
    await assert.rejects(connect(config({ exec: { ...plugin, args: ['-c', 'echo no >&2; exit 3'] } })), {
      message: /^the credential plugin of context "x" failed: /,
    });
  });

  const bad: [string, string, RegExp][] = [
    ['that is not YAML', 'a: [', /k is not valid YAML/],
    ['that is a list', '[]', /does not hold an object/],
    ['without a context', '{}', /has no current-context/],
    ['whose server is not https', config({}, { server: 'http://h' }), /is not https/],
    [
      'whose certificate file is missing',
      config({}, { 'certificate-authority': 'gone' }),
      /gone, which the kubeconfig names/,
    ],
    ['through a proxy', config({}, { 'proxy-url': 'http://p' }), /proxy-url/],
  ];
  for (const [what, text, message] of bad) {
    it(`${what} is refused in a sentence`, () => assert.rejects(connect(text), { name: 'Failure', message }));
  }

  it('without the context asked for lists those it has', () =>
    assert.rejects(connect(config({}), 'z'), { message: /no context "z"/, hint: 'it has x, y' }));

  it('is printed as a line for the shell, or merged privately into the usual one', async () => {
    await folder.write('kubeconfig', config({ token: 't' }));
    const shown = await folder.run(['kubeconfig']);
    assert.equal(shown.stdout, `export KUBECONFIG=${folder.path}/kubeconfig\n`);
    const target = await folder.write('.kube/config', 'current-context: mine\nclusters: [{name: old, cluster: {}}]\n');
    assert.equal((await folder.run(['kubeconfig', '--merge'])).code, 0);
    assert.equal((await stat(target)).mode & 0o777, 0o600);
    const merged = await loadKubeconfig(ioIn(folder, {}), target);
    assert.equal(merged.currentContext, 'mine');
    assert.deepEqual([...merged.clusters.keys()], ['old', 'c']);
  });

  it('is never merged into itself: a shell that uses it has it merged into the usual one', async () => {
    const own = await folder.write('kubeconfig', config({ token: 't' }));
    await symlink(own, join(folder.path, 'link'));
    const before = await readFile(own, 'utf8');
    const usual = join(folder.path, '.kube', 'config');
    for (const set of [own, join(folder.path, 'link'), `:${own}`]) {
      await rm(usual, { force: true });
      const { stdout } = await folder.run(['kubeconfig', '--merge'], { env: { KUBECONFIG: set } });
      assert.ok(stdout.startsWith(`merged into ${usual}; `), stdout);
      assert.equal(await readFile(own, 'utf8'), before);
      assert.deepEqual([...(await loadKubeconfig(ioIn(folder, {}), usual)).contexts.keys()], ['x', 'y']);
    }
  });

  it('merged twice is the same as merged once', () => {
    const ours = load(config({ token: 't' })) as Record<string, unknown>;
    const once = mergeKubeconfig({}, ours);
    assert.deepEqual(mergeKubeconfig(once, ours), once);
    assert.equal(once['current-context'], 'x');
  });
});
