import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { tokenIn } from '../../../apiserver/pki/admin-kubeconfig.ts';
import { EtcdServer, needEtcd } from '../../harness/etcd-server.ts';
import { tlsRequest } from '../../harness/tls-request.ts';
import { until } from '../../harness/until.ts';
import { ask, KeysWorld, kubectlSees } from './keys-world.ts';

describe('changing keys of several servers', function () {
  this.timeout(180_000);
  let etcd: EtcdServer;
  let world: KeysWorld;
  before(async function () {
    needEtcd(this);
    etcd = await EtcdServer.start();
  });
  after(() => etcd?.[Symbol.asyncDispose]());
  let root = 0;
  beforeEach(async () => {
    world = await KeysWorld.make();
    root++;
  });
  afterEach(() => world[Symbol.asyncDispose]());
  const store = () => ({ kind: 'etcd', endpoints: etcd.endpoints, root: `keys-${root}` }) as const;

  it('that share the folder: each learns of each step, and serves under it', async () => {
    const pki = world.path('shared');
    await using a = await world.serve('a', { pki, store: store() });
    await using b = await world.serve('b', { pki, store: store() });
    for (const what of ['ca', 'service-account-key', 'sealing-key']) {
      const changed = await world.run('a', `pki rotate ${what} --pki ${pki}`);
      assert.match(
        changed.stdout,
        /2\. trusted by servers a, b(, and by every host)?\n3\. used by servers a, b\n/,
        changed.stderr,
      );
    }
    for (const server of [a, b]) await kubectlSees(server);
    await until('b has a certificate of the new authority', () => {
      const shown = readFileSync(b.home.kubeconfig, 'utf8');
      const cert = /client-certificate-data: (\S+)/.exec(shown)?.[1] ?? '';
      return new X509Certificate(Buffer.from(cert, 'base64')).verify(new X509Certificate(b.pki.issuingCert).publicKey);
    });
    for (const what of ['ca', 'service-account-key', 'sealing-key']) {
      const finished = await world.run('a', `pki rotate ${what} --finish --pki ${pki}`);
      assert.match(finished.stdout, /is trusted by servers a, b\n$/, finished.stderr);
    }
    for (const server of [a, b]) await kubectlSees(server);
    const { stderr, code } = await world.run('a', `pki rotate operator-token --pki ${pki}`);
    assert.equal(code, 0, stderr);
    const token = tokenIn(a.home.kubeconfig) ?? '';
    for (const server of [a, b]) {
      const { status } = await tlsRequest(`${server.url}/api`, {
        ca: a.pki.caCert,
        headers: { authorization: `Bearer ${token}` },
        agent: false,
      });
      assert.equal(status, 200);
    }
  });

  it('that have copies: nothing is used before the copy is there too, and the same command goes on', async () => {
    await using a = await world.serve('a', { store: store() });
    const minted = await world.runBare('apiserver', 'token', '--kubeconfig', a.home.kubeconfig);
    assert.equal(minted.stdout.trimEnd().split('\n').length, 1);
    const joined = await world.run('b', `apiserver join ${minted.stdout.trim()}`);
    assert.equal(joined.code, 0, joined.stderr);
    await using b = await world.serve('b', { store: store() });
    await kubectlSees(b);
    assert.equal(tokenIn(b.home.kubeconfig), undefined, 'the operator’s token stays where it was');
    assert.equal(await ask(b, { token: tokenIn(a.home.kubeconfig) }), 200, 'and is good there');
    const late = await world.run('a', 'pki rotate ca --timeout 5s');
    assert.match(
      late.stderr,
      /^waiting for server b \(last heard \d+s ago\)\nerror: b did not say that it trusts the new ca\nhint: where a server has a copy of /,
    );
    assert.match(late.stdout, /^1\. added ca [0-9a-f]{16}:[^\n]*\n$/);
    const copy = async () => {
      const again = await world.runBare('apiserver', 'token', '--kubeconfig', a.home.kubeconfig);
      assert.equal((await world.run('b', `apiserver join ${again.stdout.trim()} --again`)).code, 0);
    };
    await copy();
    const half = await world.run('a', 'pki rotate ca --timeout 8s');
    assert.match(half.stdout, /^1\. there already is ca .*\n2\. trusted by servers a, b, and by every host\n$/);
    assert.match(half.stderr, /^error: b did not say that it uses the new ca\n/m);
    await kubectlSees(b);
    await copy();
    const finished = await world.run('a', 'pki rotate ca --finish --timeout 10s');
    assert.match(finished.stdout, /^dropped ca /, finished.stderr);
    assert.match(finished.stderr, /^error: b still trusts another ca\n/m);
    await copy();
    assert.match(
      (await world.run('a', 'pki rotate ca --finish')).stdout,
      /^only ca [0-9a-f]{16} is trusted by servers a, b\n$/,
    );
    await kubectlSees(a);
  });
});
