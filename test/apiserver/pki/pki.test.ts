import assert from 'node:assert/strict';
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tokenHash } from '../../../apiserver/auth/bearer-tokens.ts';
import { tokenIn, writeAdminKubeconfig } from '../../../apiserver/pki/admin-kubeconfig.ts';
import { LEAF_DAYS } from '../../../apiserver/pki/leaf-life.ts';
import { openPki } from '../../../apiserver/pki/pki-files.ts';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';

const DAY_MS = 24 * 3600 * 1000;
const NAMES = ['127.0.0.1', 'localhost'];

describe('the pki folder', () => {
  let home: string;
  let folder: string;
  let clock: ManualClock;
  const open = (names: readonly string[] = NAMES) => openPki(folder, names, clock, systemIds);
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'coppice-pki-'));
    folder = join(home, 'pki');
    clock = new ManualClock();
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  it('keeps one authority for good, and one leaf as long as it serves', async () => {
    const first = await open();
    const leaf = await first.serverLeaf();
    const second = await open();
    assert.equal(second.caCert, first.caCert);
    assert.deepEqual(await second.serverLeaf(), leaf);
    const cert = new X509Certificate(leaf.cert);
    assert.ok(cert.verify(new X509Certificate(first.caCert).publicKey));
    assert.equal(cert.checkHost('localhost'), 'localhost');
    assert.equal(cert.checkIP('127.0.0.1'), '127.0.0.1');
    assert.ok(Date.parse(cert.validFrom) < clock.now());
    assert.ok(new X509Certificate(first.caCert).ca);
    assert.ok(!cert.ca);
  });

  it('renews a leaf in the last third of its life', async () => {
    const pki = await open();
    const leaf = await pki.serverLeaf();
    await clock.advance((LEAF_DAYS * 2 * DAY_MS) / 3 - DAY_MS);
    assert.deepEqual(await pki.serverLeaf(), leaf);
    await clock.advance(2 * DAY_MS);
    const renewed = await pki.serverLeaf();
    assert.notEqual(renewed.cert, leaf.cert);
    assert.ok(Date.parse(new X509Certificate(renewed.cert).validTo) > clock.now() + 80 * DAY_MS);
  });

  it('renews a leaf that lacks a name', async () => {
    const leaf = await (await open()).serverLeaf();
    const more = await (await open([...NAMES, 'mac.local', '10.0.0.7'])).serverLeaf();
    assert.notEqual(more.cert, leaf.cert);
    assert.equal(new X509Certificate(more.cert).checkIP('10.0.0.7'), '10.0.0.7');
  });

  it('renews a leaf whose key is another’s, is cut short, or whose authority is no more', async () => {
    const leaf = await (await open()).serverLeaf();
    const key = join(folder, 'apiserver.key');
    copyFileSync(join(folder, 'ca.key'), key);
    const second = await (await open()).serverLeaf();
    assert.notEqual(second.cert, leaf.cert);
    writeFileSync(key, readFileSync(key, 'utf8').slice(0, 40));
    const third = await (await open()).serverLeaf();
    assert.notEqual(third.cert, second.cert);
    rmSync(join(folder, 'ca.crt'));
    rmSync(join(folder, 'ca.key'));
    const anew = await open();
    const fourth = await anew.serverLeaf();
    assert.ok(new X509Certificate(fourth.cert).verify(new X509Certificate(anew.caCert).publicKey));
  });

  it('is open to its owner only, every file of it, and leaves no drafts', async () => {
    const pki = await open();
    await pki.serverLeaf();
    pki.operator(undefined);
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    const files = readdirSync(folder).sort();
    assert.deepEqual(files, ['apiserver.crt', 'apiserver.key', 'ca.crt', 'ca.key', 'operator-token.sha256']);
    for (const file of files) assert.equal(statSync(join(folder, file)).mode & 0o777, 0o600, file);
  });

  it('binds a client certificate to a name, groups and a uid', async () => {
    const pki = await open();
    const { cert } = await pki.issueClient({
      commonName: 'system:host:mac-1',
      organizations: ['system:hosts'],
      serial: 'the-uid',
    });
    const { subject } = new X509Certificate(cert);
    assert.deepEqual(subject.split('\n').sort(), ['CN=system:host:mac-1', 'O=system:hosts', 'serialNumber=the-uid']);
  });

  it('keeps the operator’s token while the kubeconfig has it, and makes another when it is lost; never stores it', async () => {
    const pki = await open();
    const first = pki.operator(undefined);
    assert.equal(first.hash, tokenHash(first.token ?? ''));
    assert.deepEqual((await open()).operator(first.token), first);
    const lost = (await open()).operator(undefined);
    assert.notEqual(lost.token, first.token);
    assert.notEqual((await open()).operator(first.token).token, first.token, 'the old one is void');
    for (const file of readdirSync(folder))
      assert.ok(!readFileSync(join(folder, file), 'utf8').includes(lost.token ?? ''), file);
  });

  it('makes the key of service account tokens once, for its owner only', async () => {
    const key = (await open()).serviceAccountKey();
    assert.equal((await open()).serviceAccountKey(), key);
    const path = join(folder, 'service-account.key');
    assert.equal(readFileSync(path, 'utf8'), key);
    assert.equal(statSync(path).mode & 0o777, 0o600);
  });

  it('names the file that holds something else, and leaves it as it is', async () => {
    const first = await open();
    first.serviceAccountKey();
    const use = async () => {
      const pki = await open();
      pki.serviceAccountKey();
      pki.sealingKeys();
    };
    const other = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey;
    const foreign = other.export({ type: 'pkcs8', format: 'pem' }).toString();
    for (const [name, content, told] of [
      ['ca.crt', 'junk', /ca\.crt is no certificate in PEM$/],
      ['ca.key', 'junk', /ca\.key is no private key in PEM$/],
      ['ca.key', foreign, /ca\.key is not the key of ca\.crt beside it$/],
      ['service-account.key', 'junk', /service-account\.key is no private key in PEM$/],
      ['service-account.key', foreign, /service-account\.key is no key of the curve P-256$/],
      ['sealing.key', 'junk', /sealing\.key does not hold keys of 32 bytes in hex, one a line$/],
    ] as const) {
      await use();
      const path = join(folder, name);
      const good = readFileSync(path, 'utf8');
      writeFileSync(path, content);
      await assert.rejects(use(), { name: 'BadKeyFileError', message: told });
      assert.equal(readFileSync(path, 'utf8'), content);
      writeFileSync(path, good);
    }
  });

  it('writes a kubeconfig for its owner only, from which the token is read again', async () => {
    const pki = await open();
    const { token = '' } = pki.operator(undefined);
    const path = join(home, 'kubeconfig');
    assert.equal(tokenIn(path), undefined);
    writeAdminKubeconfig(path, { server: 'https://127.0.0.1:7799', caCert: pki.caCert, token });
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.equal(tokenIn(path), token);
    writeFileSync(path, '{ not: [yaml');
    assert.equal(tokenIn(path), undefined);
    writeFileSync(path, 'users: 7');
    assert.equal(tokenIn(path), undefined);
  });
});
