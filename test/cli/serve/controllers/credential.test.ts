import assert from 'node:assert/strict';
import { join } from 'node:path';
import { CliFolder } from '../../../harness/run-cli.ts';

describe('the credential of coppice controllers', () => {
  let folder: CliFolder;
  beforeEach(async () => {
    folder = await CliFolder.make();
  });
  afterEach(() => folder[Symbol.asyncDispose]());

  /** What a process says that got as far as to read one file: it names a context that is in no other. */
  const said = async (argv: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const { code, stdout, stderr } = await folder.run(['controllers', '--context', 'none', ...argv], { env });
    assert.equal(code, 1, stdout);
    return stderr;
  };
  const kubeconfig = (name: string, context: string) =>
    folder.write(name, `contexts: [{name: ${context}, context: {cluster: c, user: u}}]\n`);

  it('is of the home that --home names, or of nowhere', async () => {
    const elsewhere = await kubeconfig('elsewhere', 'theirs');
    await kubeconfig('.kube/config', 'theirs');
    const missing = join(folder.path, 'wrong', 'controllers.kubeconfig');
    for (const home of [join(folder.path, 'wrong'), 'wrong']) {
      assert.match(
        await said(['--home', home], { KUBECONFIG: elsewhere }),
        new RegExp(`^error: there is no ${missing}\nhint: .*--kubeconfig\n$`),
      );
    }
    assert.match(await said(['--home', 'wrong', '--kubeconfig', elsewhere]), /theirs/);
    await kubeconfig('wrong/controllers.kubeconfig', 'ours');
    assert.match(await said(['--home', 'wrong'], { KUBECONFIG: elsewhere }), /ours/);
  });

  it('is of $KUBECONFIG where no home was named that has one', async () => {
    const KUBECONFIG = await kubeconfig('elsewhere', 'theirs');
    assert.match(await said([], { KUBECONFIG, COPPICE_HOME: 'none' }), /theirs/);
    await kubeconfig('home/controllers.kubeconfig', 'ours');
    assert.match(await said([], { KUBECONFIG, COPPICE_HOME: join(folder.path, 'home') }), /ours/);
    await kubeconfig('.coppice/controllers.kubeconfig', 'default');
    assert.match(await said([], { KUBECONFIG, COPPICE_HOME: '' }), /theirs/);
    assert.match(await said([], { KUBECONFIG: '', COPPICE_HOME: '' }), /default/);
  });
});
