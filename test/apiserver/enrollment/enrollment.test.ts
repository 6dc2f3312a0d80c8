import assert from 'node:assert/strict';
import { createHash, createPrivateKey, X509Certificate } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AuditEntry } from '../../../apiserver/admit-request.ts';
import { controllerIdentity, hostIdentity, type Identity } from '../../../apiserver/auth/identity.ts';
import { openPki, type Pki } from '../../../apiserver/pki/pki-files.ts';
import type { Credential } from '../../../apiserver/requests/server-request.ts';
import { MemoryStore } from '../../../apiserver/store/memory/store.ts';
import { lineLogger } from '../../../resources/ambient/log.ts';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { certificationRequest } from '../../harness/certification-request.ts';
import { type RawAnswer, send } from '../../harness/raw.ts';
import { startTestServer, type TestServer } from '../../harness/server.ts';

const HOSTS = '/apis/coppice.dev/v1/hosts';
const HOUR_MS = 3_600_000;

const KINDS: Readonly<Record<string, string>> = {
  token: 'HostToken',
  certificate: 'HostCertificate',
  controlplane: 'ControlPlane',
};
const typed = (url: string, body: object) => ({
  apiVersion: 'coppice.dev/v1',
  kind: KINDS[/[a-z]+(?=\?|$)/.exec(url)?.[0] ?? ''] ?? 'Host',
  ...body,
});

const statusOf = (answer: RawAnswer) => answer.body.status as Record<string, string>;

describe('enrolling a host', () => {
  const clock = new ManualClock(Date.now());
  const logged: string[] = [];
  const audited: AuditEntry[] = [];
  let folder: string;
  let pki: Pki;
  let store: MemoryStore;
  let servers: [TestServer, TestServer];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'coppice-enroll-'));
    pki = await openPki(join(folder, 'pki'), ['127.0.0.1'], clock, systemIds);
    store = await MemoryStore.open({ ids: systemIds });
    const log = lineLogger(
      (line) => logged.push(line),
      () => clock.now(),
    );
    const audit = (entry: AuditEntry) => audited.push(entry);
    const open = () => startTestServer({ store, clock, hostAuthority: pki, log, audit });
    servers = [await open(), await open()];
  });
  after(async () => {
    for (const server of servers) await server[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const ask = (url: string, body: object, wish: { identity?: Identity; credential?: Credential } = {}, server = 0) =>
    send((servers[server] as TestServer).server.app, 'POST', `${HOSTS}${url}`, { body: typed(url, body), ...wish });
  const makeHost = async (name: string) => {
    const answer = await ask('', { metadata: { name } });
    assert.equal(answer.status, 201, answer.text);
    return String(answer.body.metadata?.uid);
  };
  const removeHost = async (name: string) =>
    assert.equal((await send(servers[0].server.app, 'DELETE', `${HOSTS}/${name}`)).status, 200);
  const mint = async (name: string, spec: object = {}) => {
    const answer = await ask(`/${name}/token`, { spec });
    assert.equal(answer.status, 201, answer.text);
    return statusOf(answer).token ?? '';
  };
  const enroll = (name: string, bearer: string, request: string, server = 0) =>
    ask(`/${name}/certificate`, { spec: { request } }, { credential: { kind: 'wire', bearer } }, server);

  it('gives who shows its token a certificate for its own key, bound to the Host', async () => {
    const uid = await makeHost('first');
    const token = await mint('first');
    const { request, key } = await certificationRequest();
    const answer = await enroll('first', token, request, 1);
    assert.equal(answer.status, 201, answer.text);
    const { certificate = '', authorities, expirationTimestamp } = statusOf(answer);
    const leaf = new X509Certificate(certificate);
    assert.deepEqual(leaf.subject.split('\n'), ['O=system:hosts', 'CN=system:host:first', `serialNumber=${uid}`]);
    assert.ok(leaf.checkPrivateKey(createPrivateKey(key)));
    assert.ok(leaf.verify(new X509Certificate(pki.caCert).publicKey));
    assert.equal(authorities, pki.caCert);
    assert.equal(Date.parse(expirationTimestamp ?? ''), leaf.validToDate.getTime());
    assert.deepEqual(answer.body.spec, {});
  });

  it('names in the token the host and the authority to trust', async () => {
    await makeHost('pinned');
    const [name, pin, secret] = (await mint('pinned')).split('.');
    const ca = new X509Certificate(pki.caCert).raw;
    assert.deepEqual([name, pin], ['pinned', createHash('sha256').update(ca).digest('hex')]);
    assert.match(secret ?? '', /^[0-9a-f]{64}$/);
  });

  it('takes a token for one key only, on whatever server, and for that key again while it is good', async () => {
    await makeHost('once');
    const token = await mint('once');
    const [one, other] = await Promise.all([certificationRequest(), certificationRequest()]);
    const answers = await Promise.all([enroll('once', token, one.request, 0), enroll('once', token, other.request, 1)]);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 401]);
    const [winner, loser] = answers[0]?.status === 201 ? [one, other] : [other, one];
    assert.equal((await enroll('once', token, winner.request, 1)).status, 201);
    const refused = await enroll('once', token, loser.request);
    assert.deepEqual([refused.status, refused.body.message], [401, 'the token was used already']);
  });

  it('does not use a token up for a request that is none', async () => {
    await makeHost('careful');
    const token = await mint('careful');
    const { request } = await certificationRequest('P-384');
    for (const bad of ['', 'nonsense', request, pki.caCert]) {
      const { status, body } = await enroll('careful', token, bad);
      assert.equal(status, 400, body.message);
    }
    const good = await certificationRequest();
    const tampered = await otherKeyIn(good.request);
    assert.equal((await enroll('careful', token, tampered)).status, 400);
    assert.equal((await enroll('careful', token, good.request)).status, 201);
  });

  it('refuses a token whose time is over, at the moment it is', async () => {
    await makeHost('late');
    const [short, usual] = [await mint('late', { expirationSeconds: 60 }), await mint('late')];
    const { request } = await certificationRequest();
    await clock.advance(60_000);
    assert.equal((await enroll('late', short, request)).status, 401);
    await clock.advance(HOUR_MS - 60_001);
    assert.equal((await enroll('late', usual, request)).status, 201);
    await clock.advance(1);
    assert.equal((await enroll('late', usual, request)).status, 401);
    for (const expirationSeconds of [59, 86_401, 'soon'])
      assert.equal((await ask('/late/token', { spec: { expirationSeconds } })).status, 400);
  });

  it('lets a token do nothing else, nor for another host', async () => {
    await makeHost('narrow');
    await makeHost('other');
    const credential: Credential = { kind: 'wire', bearer: await mint('narrow') };
    const { request } = await certificationRequest();
    const { app } = servers[0].server;
    const elsewhere = await ask('/other/certificate', { spec: { request } }, { credential });
    assert.equal(elsewhere.status, 403);
    assert.match(elsewhere.body.message ?? '', /"system:enrolling:narrow" cannot create resource/);
    assert.equal((await ask('/narrow/token', {}, { credential })).status, 403);
    for (const url of [HOSTS, `${HOSTS}/narrow`, `${HOSTS}/narrow/controlplane`, '/api/v1/secrets'])
      assert.equal(
        (await send(app, url.endsWith('plane') ? 'POST' : 'GET', url, { credential, body: typed(url, {}) })).status,
        403,
        url,
      );
    const forged = `other.${'0'.repeat(64)}.${'0'.repeat(64)}`;
    assert.equal((await enroll('other', forged, request)).status, 401);
  });

  it('lets nobody but the operator mint, and nobody but the host renew', async () => {
    const uid = await makeHost('strict');
    const { request } = await certificationRequest();
    const who = [hostIdentity('strict', uid), hostIdentity('other'), controllerIdentity('placement')];
    for (const identity of who) assert.equal((await ask('/strict/token', {}, { identity })).status, 403);
    const spec = { request };
    const renewed = await ask('/strict/certificate', { spec }, { identity: hostIdentity('strict', uid) });
    assert.equal(renewed.status, 201, renewed.text);
    for (const identity of [hostIdentity('other'), controllerIdentity('placement')])
      assert.equal((await ask('/strict/certificate', { spec }, { identity })).status, 403);
    assert.equal((await ask('/strict/certificate', { spec })).status, 403, 'the operator is no host');
  });

  it('takes neither token nor certificate of a Host that was deleted and made again', async () => {
    const uid = await makeHost('reborn');
    const token = await mint('reborn');
    await removeHost('reborn');
    const { request } = await certificationRequest();
    assert.equal((await enroll('reborn', token, request)).status, 404);
    const again = await makeHost('reborn');
    const refused = await enroll('reborn', token, request);
    assert.deepEqual([refused.status, refused.body.message], [403, 'the token is for a Host reborn that is gone']);
    const identity = hostIdentity('reborn', uid);
    const stale = await ask('/reborn/certificate', { spec: { request } }, { identity });
    assert.equal(stale.status, 403);
    assert.match(stale.body.message ?? '', new RegExp(again));
    assert.equal((await ask('/reborn/controlplane', {}, { identity })).status, 403);
    assert.equal((await enroll('reborn', await mint('reborn'), request)).status, 201);
  });

  it('keeps only the hash of a token, and deletes it when it is over', async () => {
    await makeHost('hidden');
    const token = await mint('hidden');
    const { request } = await certificationRequest();
    await enroll('hidden', token, request);
    const [, , secret = ''] = token.split('.');
    const all = async () => (await store.range({ prefix: '' })).entries;
    const texts = [
      ...(await all()).map(({ key, value }) => key + Buffer.from(value).toString()),
      ...logged,
      ...audited.map((entry) => JSON.stringify(entry)),
    ];
    assert.ok(audited.some(({ path, status }) => path.endsWith('/hidden/token') && status === 201));
    assert.ok(!texts.some((text) => text.includes(secret)));
    const kept = async () => (await all()).filter(({ key }) => key.startsWith('enrollment/')).length;
    assert.ok((await kept()) > 1);
    await clock.advance(2 * HOUR_MS);
    await mint('hidden');
    assert.equal(await kept(), 1);
  });

  it('is not tried out, and not replayed', async () => {
    await makeHost('dry');
    assert.equal((await ask('/dry/token?dryRun=All', {})).status, 400);
    const headers = { 'idempotency-key': 'k' };
    const again = () =>
      send(servers[0].server.app, 'POST', `${HOSTS}/dry/token`, { body: typed('token', {}), headers });
    const [one, two] = [await again(), await again()];
    assert.notEqual(statusOf(one).token, statusOf(two).token);
  });

  it('tells a host which store it serves, as far as that has come', async () => {
    const uid = await makeHost('told');
    const identity = hostIdentity('told', uid);
    for (const server of [0, 1]) {
      const { status, text, body } = await ask('/told/controlplane', {}, { identity }, server);
      assert.equal(status, 201, text);
      const told = body.status as { storeUID: string; revision: number; authorities: string };
      assert.deepEqual([told.storeUID, told.revision], [store.uid, store.revision()]);
      assert.equal(told.authorities, createHash('sha256').update(pki.caCert).digest('hex'));
    }
    assert.equal((await ask('/told/controlplane', {})).status, 403);
  });

  it('needs an authority', async () => {
    await using bare = await startTestServer();
    await send(bare.server.app, 'POST', HOSTS, { body: typed('', { metadata: { name: 'x' } }) });
    const { status } = await send(bare.server.app, 'POST', `${HOSTS}/x/token`, { body: typed('token', {}) });
    assert.equal(status, 503);
  });
});

/** The request with another one's key in it, and the signature as it was. */
async function otherKeyIn(pem: string): Promise<string> {
  const { Pkcs10CertificateRequest, PemConverter } = await import('@peculiar/x509');
  const [mine, theirs] = [pem, (await certificationRequest()).request].map((each) => ({
    der: Buffer.from(PemConverter.decode(each)[0] as ArrayBuffer),
    key: Buffer.from(new Pkcs10CertificateRequest(each).publicKey.rawData),
  }));
  assert.ok(mine !== undefined && theirs !== undefined);
  const at = mine.der.indexOf(mine.key);
  assert.ok(at > 0);
  theirs.key.copy(mine.der, at);
  return PemConverter.encode(mine.der, 'CERTIFICATE REQUEST');
}
