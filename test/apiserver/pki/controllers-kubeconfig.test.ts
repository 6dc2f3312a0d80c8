import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { keepControllersKubeconfig } from '../../../apiserver/pki/controllers-kubeconfig.ts';
import { LEAF_DAYS } from '../../../apiserver/pki/leaf-life.ts';
import { openPki } from '../../../apiserver/pki/pki-files.ts';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';

const DAY_MS = 24 * 3600 * 1000;

interface Written {
  readonly clusters: readonly { readonly cluster: { readonly server: string } }[];
  readonly users: readonly { readonly user: Readonly<Record<string, string>> }[];
}

describe('the kubeconfig of processes of controllers', () => {
  let folder: string;
  let path: string;
  let clock: ManualClock;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'coppice-controllers-kubeconfig-'));
    path = join(folder, 'controllers.kubeconfig');
    clock = new ManualClock();
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const keep = async (server = 'https://127.0.0.1:1', pki = 'pki') =>
    keepControllersKubeconfig({ path, server, clock, pki: await openPki(join(folder, pki), [], clock, systemIds) });
  const read = () => load(readFileSync(path, 'utf8')) as Written;
  const cert = () =>
    new X509Certificate(Buffer.from(read().users[0]?.user['client-certificate-data'] ?? '', 'base64').toString());

  it('is for its owner only, and holds a certificate that names the process and its group', async () => {
    await keep();
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.deepEqual(cert().subject.split('\n').sort(), ['CN=system:controllers', 'O=system:controller-processes']);
    assert.deepEqual(Object.keys(read().users[0]?.user ?? {}), ['client-certificate-data', 'client-key-data']);
  });

  it('stays as it is while it is good, and its certificate when only the address is another', async () => {
    await keep();
    const [first, certificate] = [statSync(path).ino, cert().fingerprint256];
    await keep();
    assert.equal(statSync(path).ino, first);
    await keep('https://127.0.0.1:2');
    assert.equal(read().clusters[0]?.cluster.server, 'https://127.0.0.1:2');
    assert.equal(cert().fingerprint256, certificate);
  });

  it('gets a new certificate before the old one ends, of another authority, and in the place of nonsense', async () => {
    await keep();
    const first = cert().fingerprint256;
    await clock.advance((LEAF_DAYS * 2 * DAY_MS) / 3 + DAY_MS);
    await keep();
    const second = cert().fingerprint256;
    assert.notEqual(second, first);
    await keep('https://127.0.0.1:1', 'other');
    assert.notEqual(cert().fingerprint256, second);
    for (const nonsense of ['', '{', 'users: 3', 'users: [{user: {client-certificate-data: x, client-key-data: y}}]']) {
      writeFileSync(path, nonsense);
      await keep();
      assert.match(cert().subject, /system:controllers/);
    }
  });
});
