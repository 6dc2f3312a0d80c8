import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type StoreFlags, storeOptions } from '../../../cli/serve/store-options.ts';

describe('where a control plane keeps its state', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'coppice-store-options-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const read = (flags: StoreFlags, env: Record<string, string> = {}) => storeOptions(flags, env, folder);
  const refuses = (flags: StoreFlags, message: string | RegExp, env: Record<string, string> = {}) =>
    assert.throws(() => read(flags, env), { name: 'Failure', message });

  it('is its home, unless etcd is named by flag or environment', () => {
    assert.deepEqual(read({}), { kind: 'sqlite' });
    assert.deepEqual(read({}, { COPPICE_ETCD: '' }), { kind: 'sqlite' });
    const one = { kind: 'etcd', endpoints: ['127.0.0.1:2379'], root: 'coppice' };
    assert.deepEqual(read({ etcd: '127.0.0.1:2379' }, { COPPICE_ETCD: 'other:1' }), one);
    assert.deepEqual(read({}, { COPPICE_ETCD: '127.0.0.1:2379' }), one);
  });

  it('takes several members, of any form, and a root', () => {
    const etcd = 'https://a.example:2379, [::1]:2379,b:1';
    const endpoints = ['https://a.example:2379', '[::1]:2379', 'b:1'];
    assert.deepEqual(read({ etcd, 'etcd-root': 'fleets/one' }), { kind: 'etcd', endpoints, root: 'fleets/one' });
    for (const wrong of ['', 'a', 'a:', 'a:0', 'a:65536', 'ftp://a:1', 'a:1,,b:2', 'a:1/path'])
      refuses({ etcd: wrong }, /^--etcd: ".*" is not HOST:PORT$/);
    for (const wrong of ['', '/a', 'a/', 'a//b', 'a b'])
      refuses({ etcd: 'a:1', 'etcd-root': wrong }, /^--etcd-root is/);
  });

  it('reads certificates from where one stands', () => {
    for (const name of ['ca', 'cert', 'key']) writeFileSync(join(folder, `${name}.pem`), name);
    const ca = { etcd: 'a:1', 'etcd-ca': 'ca.pem' };
    assert.deepEqual(read(ca), { kind: 'etcd', endpoints: ['a:1'], root: 'coppice', tls: { ca: 'ca' } });
    const all = read({ ...ca, 'etcd-cert': 'cert.pem', 'etcd-key': 'key.pem' });
    assert.deepEqual(all.kind === 'etcd' && all.tls, { ca: 'ca', cert: 'cert', key: 'key' });
    refuses({ ...ca, 'etcd-cert': 'cert.pem' }, '--etcd-cert needs --etcd-key');
    refuses({ ...ca, 'etcd-key': 'key.pem' }, '--etcd-key needs --etcd-cert');
    refuses({ etcd: 'a:1', 'etcd-cert': 'cert.pem', 'etcd-key': 'key.pem' }, '--etcd-cert needs --etcd-ca');
    refuses({ etcd: 'a:1', 'etcd-ca': 'gone.pem' }, `--etcd-ca: ${join(folder, 'gone.pem')} is not there`);
    refuses({ etcd: 'a:1', 'etcd-ca': '.' }, `--etcd-ca: ${folder} cannot be read (EISDIR)`);
  });

  it('takes the password from the environment only', () => {
    const flags = { etcd: 'a:1', 'etcd-user': 'coppice' };
    refuses(flags, '--etcd-user needs its password in $COPPICE_ETCD_PASSWORD');
    const options = read(flags, { COPPICE_ETCD_PASSWORD: 'secret' });
    assert.deepEqual(options.kind === 'etcd' && options.auth, { username: 'coppice', password: 'secret' });
  });

  it('knows how large etcd may grow where somebody says so', () => {
    const { quotaBytes } = { quotaBytes: undefined, ...read({ etcd: 'a:1', 'etcd-quota': '8Gi' }) };
    assert.equal(quotaBytes, 8 * 1024 ** 3);
    for (const wrong of ['', '0', '8 GB', '-1']) refuses({ etcd: 'a:1', 'etcd-quota': wrong }, /^--etcd-quota is/);
  });

  it('refuses flags of etcd where there is none', () => {
    for (const flag of ['etcd-root', 'etcd-quota', 'etcd-ca', 'etcd-cert', 'etcd-key', 'etcd-user'] as const)
      refuses({ [flag]: 'x' }, `--${flag} is for a store in etcd`);
  });
});
