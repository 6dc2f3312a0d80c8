import assert from 'node:assert/strict';
import { FakeApi } from '../../harness/fake-api.ts';
import { CliFolder } from '../../harness/run-cli.ts';

describe('coppice host trust-store', () => {
  let api: FakeApi;
  let folder: CliFolder;
  beforeEach(async () => {
    api = await FakeApi.start();
    folder = await CliFolder.make(api);
    for (const [name, spec, status] of [
      ['mac-1', {}, { distrustedStore: 'two@5' }],
      ['mac-2', { trustedStore: 'one@1' }, { distrustedStore: 'two@7' }],
      ['mac-3', {}, {}],
      ['mac-4', { trustedStore: 'two@9' }, { distrustedStore: 'two@9' }],
    ] as const)
      api.put('hosts', { metadata: { name }, spec, status });
  });
  afterEach(async () => {
    await api[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });

  const patches = () =>
    api.requests.filter(({ method }) => method === 'PATCH').map(({ url, body }) => `${url.split('?')[0]} ${body}`);
  const patch = (name: string, token: string) =>
    `/apis/coppice.dev/v1/hosts/${name} {"spec":{"trustedStore":"${token}"}}`;

  it('tells every host that asks to trust the store that it named itself', async () => {
    const { code, stdout } = await folder.run(['host', 'trust-store', '--all']);
    assert.equal(code, 0);
    assert.equal(stdout, 'host.coppice.dev/mac-1 trusts two@5\nhost.coppice.dev/mac-2 trusts two@7\n');
    assert.deepEqual(patches(), [patch('mac-1', 'two@5'), patch('mac-2', 'two@7')]);
  });

  it('tells those that are named, and says of others why there is nothing to do', async () => {
    const { code, stdout } = await folder.run([
      '--kubeconfig',
      'kubeconfig',
      'host',
      'trust-store',
      'mac-2',
      'mac-3',
      'mac-4',
    ]);
    assert.equal(code, 0);
    assert.equal(
      stdout,
      'host.coppice.dev/mac-2 trusts two@7\n' +
        'host.coppice.dev/mac-3 unchanged: it trusts its store\n' +
        'host.coppice.dev/mac-4 unchanged: it is told to trust its store\n',
    );
    assert.deepEqual(patches(), [patch('mac-2', 'two@7')]);
  });

  it('says so when no host asks', async () => {
    for (const name of ['mac-1', 'mac-2', 'mac-4']) api.put('hosts', { metadata: { name }, spec: {}, status: {} });
    assert.equal((await folder.run(['host', 'trust-store', '--all'])).stdout, 'every host trusts its store\n');
  });

  for (const argv of [[], ['mac-1', '--all']]) {
    it(`wants names or --all: ${argv.join(' ') || 'nothing'}`, async () => {
      const { code, stderr } = await folder.run(['host', 'trust-store', ...argv]);
      assert.equal(code, 1);
      assert.match(stderr, /^error: name hosts, or say --all\n/);
      assert.deepEqual(patches(), []);
    });
  }

  it('changes nothing when one of the hosts is not there', async () => {
    const { code, stderr } = await folder.run(['host', 'trust-store', 'mac-1', 'mac-9']);
    assert.equal(code, 1);
    assert.match(stderr, /mac-9/);
    assert.deepEqual(patches(), []);
  });
});
