import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { tokenIn } from '../../../apiserver/pki/admin-kubeconfig.ts';
import { addNext, useNext } from '../../../apiserver/pki/rotation.ts';
import { writePrivate } from '../../../apiserver/pki/write-private.ts';
import { systemClock } from '../../../resources/ambient/system-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { certificationRequest } from '../../harness/certification-request.ts';
import { tlsRequest } from '../../harness/tls-request.ts';
import { until } from '../../harness/until.ts';
import { ask, bundleOf, type KeysServer, KeysWorld, kubectlSees } from './keys-world.ts';

const certificatesIn = (pem: string) => pem.match(/-----BEGIN [^-]+-----[^-]+-----END [^-]+-----/g) ?? [];

/** A connection that stays, and whether it is still answered on. */
async function stayingConnection(server: KeysServer): Promise<{ answers(): Promise<boolean>; end(): void }> {
  const socket = await new Promise<TLSSocket>((resolve, reject) => {
    const { hostname, port } = new URL(server.url);
    const made = connect({ host: hostname, port: Number(port), ca: bundleOf(server) }, () => resolve(made));
    made.once('error', reject);
  });
  return {
    async answers() {
      const answered = new Promise<boolean>((resolve) => {
        socket.once('data', (data) => resolve(String(data).startsWith('HTTP/1.1 200')));
        socket.once('close', () => resolve(false));
      });
      socket.write('GET /livez HTTP/1.1\r\nhost: x\r\n\r\n');
      return answered;
    },
    end: () => socket.destroy(),
  };
}

describe('changing keys while a server runs', function () {
  this.timeout(180_000);
  let world: KeysWorld;
  beforeEach(async () => {
    world = await KeysWorld.make();
  });
  afterEach(() => world[Symbol.asyncDispose]());

  const ok = async (name: string, line: string) => {
    const { code, stdout, stderr } = await world.run(name, line);
    assert.equal(code, 0, `${line}: ${stderr}`);
    return stdout;
  };

  it('ca: kubectl and open connections go on before, between and after; the old authority counts for nothing in the end', async () => {
    await using server = await world.serve('a');
    const staying = await stayingConnection(server);
    const old = bundleOf(server);
    const hostPair = await server.pki.issueClient({ commonName: 'operator', organizations: ['coppice:operators'] });
    const asOldClient = async () => {
      const { status } = await tlsRequest(`${server.url}/api`, { ca: bundleOf(server), ...hostPair, agent: false });
      return status;
    };
    await kubectlSees(server);
    assert.match(
      await ok('a', 'pki rotate ca --trust-only'),
      /^1\. added ca [0-9a-f]{16}:.*\n2\. trusted by server a, and by every host\n/,
    );
    assert.equal(certificatesIn(bundleOf(server)).length, 2);
    assert.equal(await ask(server, { ca: old }), 200, 'the old one still issues');
    await kubectlSees(server);
    assert.match(await ok('a', 'pki rotate ca'), /^1\. there already is ca .*\n2\. .*\n3\. used by server a\n/);
    await assert.rejects(ask(server, { ca: old }), 'the leaf is of the new one');
    assert.equal(await ask(server), 200);
    assert.equal(await asOldClient(), 200, 'certificates of the old one are good');
    await kubectlSees(server);
    const again = await world.run('a', 'pki rotate ca');
    assert.match(again.stderr, /is not finished: the old one is still trusted\nhint: .*coppice pki rotate ca --finish/);
    const certificate = join(server.home.host('mac-1'), 'host.crt');
    mkdirSync(server.home.host('mac-1'), { recursive: true });
    writeFileSync(certificate, hostPair.cert);
    const refused = await world.run('a', 'pki rotate ca --finish');
    assert.deepEqual(
      [refused.code, refused.stderr.includes(certificate), refused.stderr.includes('--force')],
      [1, true, true],
    );
    rmSync(certificate);
    assert.match(
      await ok('a', 'pki rotate ca --finish'),
      /^dropped ca [0-9a-f]{16}\nonly ca [0-9a-f]{16} is trusted by server a\n$/,
    );
    assert.equal(await asOldClient(), 401, 'certificates of the old one are not');
    assert.equal(await ask(server), 200);
    await kubectlSees(server);
    assert.ok(await staying.answers(), 'the connection of before is still good');
    staying.end();
    assert.equal(certificatesIn(readFileSync(server.home.kubeconfig, 'utf8')).length, 0);
    assert.match(await ok('a', 'pki rotate ca --finish'), /^only ca [0-9a-f]{16} is trusted by server a\n$/);
  });

  it('ca: is not used before every enrolled host was told of it, and not finished before each has a certificate of it', async () => {
    await using server = await world.serve('a');
    const post = async (path: string, body: object, tls: object = {}) => {
      const authorization = 'cert' in tls ? {} : { authorization: `Bearer ${tokenIn(server.home.kubeconfig)}` };
      const headers = { 'content-type': 'application/json', ...authorization };
      const url = `${server.url}/apis/coppice.dev/v1/hosts${path}`;
      const sent = JSON.stringify({ apiVersion: 'coppice.dev/v1', ...body });
      const { status, text } = await tlsRequest(url, {
        method: 'POST',
        ca: bundleOf(server),
        agent: false,
        body: sent,
        ...tls,
        headers: { ...headers, ...('headers' in tls ? (tls.headers as object) : {}) },
      });
      assert.equal(status, 201, text);
      return (JSON.parse(text) as { status: { token: string; certificate: string } }).status;
    };
    await post('', { kind: 'Host', metadata: { name: 'mac-9' } });
    const { token } = await post('/mac-9/token', { kind: 'HostToken' });
    const { request, key } = await certificationRequest();
    const wish = { kind: 'HostCertificate', spec: { request } };
    const enrolled = await post('/mac-9/certificate', wish, { headers: { authorization: `Bearer ${token}` } });
    let cert = enrolled.certificate;
    const renew = async () => {
      cert = (await post('/mac-9/certificate', wish, { cert, key })).certificate;
    };
    const early = await world.run('a', 'pki rotate ca --timeout 5s');
    assert.match(
      early.stderr,
      /^waiting for host mac-9: each asks once a minute\nerror: hosts that do not know of the authorities yet: mac-9\nhint: .*--force/,
    );
    await renew();
    await ok('a', 'pki rotate ca');
    const late = await world.run('a', 'pki rotate ca --finish --timeout 5s');
    assert.match(late.stderr, /^error: hosts that do not know of the authorities yet: mac-9\n/m);
    await renew();
    await ok('a', 'pki rotate ca --finish');
    await renew();
    await ok('a', 'pki rotate ca --trust-only --force');
  });

  it('operator-token: the new one is in the kubeconfig only, and the old one is refused at once or when its time is over', async () => {
    await using server = await world.serve('a');
    const old = tokenIn(server.home.kubeconfig) ?? '';
    const said = await ok('a', 'pki rotate operator-token');
    const token = tokenIn(server.home.kubeconfig) ?? '';
    assert.notEqual(token, old);
    assert.ok(!said.includes(token) && !server.logged.join('\n').includes(token));
    assert.deepEqual([await ask(server), await ask(server, { token: old })], [200, 401]);
    assert.equal(statSync(server.home.kubeconfig).mode & 0o777, 0o600);
    await kubectlSees(server);
    assert.match(await ok('a', 'pki rotate operator-token --keep-old 1h'), /the old one is accepted until 20/);
    assert.deepEqual([await ask(server), await ask(server, { token })], [200, 200]);
  });

  it('service-account-key: is not dropped while its tokens live, unless forced', async () => {
    await using server = await world.serve('a');
    const ca = bundleOf(server);
    const post = (path: string, body: object) =>
      tlsRequest(`${server.url}${path}`, {
        method: 'POST',
        ca,
        agent: false,
        headers: { authorization: `Bearer ${tokenIn(server.home.kubeconfig)}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const accounts = '/api/v1/namespaces/default/serviceaccounts';
    await post(accounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'ci' } });
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest' };
    const minted = JSON.parse((await post(`${accounts}/ci/token`, request)).text) as { status: { token: string } };
    const { token } = minted.status;
    await ok('a', 'pki rotate service-account-key');
    assert.equal(await ask(server, { token }), 200);
    const refused = await world.run('a', 'pki rotate service-account-key --finish');
    assert.match(refused.stderr, /tokens that the old key signed are good until 20\S+:00:00Z\nhint: .*--force/);
    await ok('a', 'pki rotate service-account-key --finish --force');
    assert.equal(await ask(server, { token }), 401);
  });

  it('sealing-key: Secrets are sealed anew, and the old key is dropped only then', async () => {
    await using server = await world.serve('a');
    const [old = ''] = server.pki.sealingKeys();
    await ok('a', 'pki rotate sealing-key');
    await ok('a', 'pki rotate sealing-key --finish');
    assert.equal(server.pki.sealingKeys().length, 1);
    assert.ok(!server.pki.sealingKeys().includes(old));
    const offline = await world.run('a', 'pki rotate sealing-key --offline');
    assert.equal(offline.code, 0);
    const blind = await world.run('a', 'pki rotate sealing-key --finish --offline --force');
    assert.match(blind.stderr, /only servers know whether anything is sealed with the old key/);
    assert.equal(server.pki.sealingKeys().length, 2);
  });

  it('shows what there is, and nothing secret of it', async () => {
    await using server = await world.serve('a');
    await ok('a', 'pki rotate sealing-key --trust-only');
    const table = await ok('a', 'pki show -o table');
    assert.match(
      table,
      /^WHAT +USE +FILE +SINCE +UNTIL +FINGERPRINT\nca +issues +ca\.crt +20\S+Z +20\S+Z +[0-9a-f]{16}\n/,
    );
    assert.match(table, /sealing-key +seals .*\nsealing-key +next /);
    const json = JSON.parse(await ok('a', 'pki show -o json')) as { what: string; fingerprint: string }[];
    assert.deepEqual(
      json.map(({ what }) => what),
      ['ca', 'service-account-key', 'sealing-key', 'sealing-key', 'operator-token', 'server-certificate'],
    );
    const secrets = [
      ...server.pki.sealingKeys(),
      tokenIn(server.home.kubeconfig) ?? '',
      server.pki.operatorTokens()[0]?.hash ?? '',
    ];
    for (const secret of secrets) assert.ok(!table.includes(secret) && !JSON.stringify(json).includes(secret));
    assert.ok(!table.includes('PRIVATE'));
  });

  it('tells how it is used, where there is nothing to change and where no server runs', async () => {
    const none = await world.run('a', 'pki rotate ca');
    assert.match(none.stderr, /pki is no folder of keys\nhint: /);
    {
      await using _server = await world.serve('a');
      assert.match(
        (await world.run('a', 'pki rotate')).stderr,
        /name what to change: ca, service-account-key, sealing-key, operator-token/,
      );
      assert.match((await world.run('a', 'pki rotate kitchen')).stderr, /there is no "kitchen" to change, only ca,/);
      assert.match((await world.run('a', 'pki rotate operator-token --finish')).stderr, /has no second step/);
      assert.match((await world.run('a', 'pki rotate ca --timeout soon')).stderr, /--timeout is "soon"/);
    }
    const alone = await world.run('a', 'pki rotate ca');
    assert.match(alone.stderr, /no server says which keys it works with: nothing listens at .*\nhint: .*--offline/);
    assert.match(
      (await world.run('a', 'pki rotate ca --finish')).stderr,
      /is not used yet\nhint: first: coppice pki rotate ca/,
    );
    assert.match(await ok('a', 'pki rotate ca --offline'), /3\. used by nobody: no server was asked/);
    await using server = await world.serve('a');
    assert.equal(await ask(server), 200);
    assert.ok(
      certificatesIn(bundleOf(server))[0]?.includes(
        new X509Certificate(server.pki.issuingCert).toString().split('\n')[1] ?? '-',
      ),
    );
  });

  it('a folder that is half changed is named and not worked with; the server goes on, and takes it over when it is whole', async () => {
    await using server = await world.serve('a');
    const folder = join(server.home.path, 'pki');
    const kept = world.path('kept');
    cpSync(folder, kept, { recursive: true });
    const place = { path: kept, clock: systemClock, ids: systemIds };
    await addNext(place, 'ca');
    useNext(place, 'ca');
    writeFileSync(join(folder, 'ca.crt'), readFileSync(join(kept, 'ca.crt')));
    await until('it is said', () =>
      server.logged.some((line) => /BadKeyFileError.*ca\.key is not the key of ca\.crt/.test(line)),
    );
    assert.equal(await ask(server, { ca: server.pki.caCert }), 200);
    assert.equal(certificatesIn(server.pki.caCert).length, 1);
    writeFileSync(join(folder, 'ca.key'), readFileSync(join(kept, 'ca.key')));
    await until('it is taken over', () => certificatesIn(server.pki.caCert).length === 2);
    await server[Symbol.asyncDispose]();
    writeFileSync(join(folder, 'sealing.key'), 'junk');
    await assert.rejects(world.serve('a'), /sealing\.key does not hold keys of 32 bytes in hex/);
  });
});

describe('a folder of keys that cannot be', () => {
  it('is told with its path, and how to name another', async function () {
    this.timeout(60_000);
    await using world = await KeysWorld.make();
    const file = world.path('file');
    writeFileSync(file, '');
    const places = { [file]: `${file} is a file, not a folder` };
    if (process.platform === 'linux')
      Object.assign(places, { '/proc/coppice/keys': '/proc/coppice cannot be made there' });
    for (const [pki, message] of Object.entries(places))
      await assert.rejects(world.serve('one', { pki }), { message, hint: 'choose another folder with --pki' });
  });

  it('is told apart from the home that it lies in', async function () {
    this.timeout(60_000);
    await using world = await KeysWorld.make();
    const pki = join(world.path('one'), 'keys');
    mkdirSync(join(world.path('one')), { recursive: true });
    writeFileSync(pki, '');
    const message = `${pki} is a file, not a folder`;
    await assert.rejects(world.serve('one', { pki }), { message, hint: 'choose another folder with --pki' });
  });

  it('is named where a write fails, of which the system tells no file', async function () {
    if (!existsSync('/dev/full')) return this.skip();
    await using world = await KeysWorld.make();
    const path = world.path('ca.key');
    symlinkSync('/dev/full', `${path}.${process.pid}.tmp`);
    assert.throws(() => writePrivate(path, 'x'), { code: 'ENOSPC', path: `${path}.${process.pid}.tmp` });
  });
});
