import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { packageRoot } from '../../cli/package-root.ts';
import { CliServer } from '../harness/cli-server.ts';
import type { CliFolder } from '../harness/run-cli.ts';

describe('the CLI and the real server', () => {
  let folder: CliFolder;
  const held = new AsyncDisposableStack();
  before(async () => {
    ({ folder } = held.use(await CliServer.start({ namespace: 'demo' })));
  });
  after(() => held.disposeAsync());

  const quickstart = `${packageRoot()}manifests/quickstart`;

  it('apply the quickstart, and find nothing to do the second time', async () => {
    const first = await folder.run(['apply', '-k', quickstart]);
    assert.equal(
      first.stdout,
      'tenant.coppice.dev/demo created\nimage.coppice.dev/tiny-linux created\nvm.coppice.dev/hello created\n',
    );
    const second = await folder.run(['apply', '-k', quickstart]);
    assert.equal(second.stdout, first.stdout.replaceAll('created', 'unchanged'));
  });

  it('apply on the server: fields have owners, and only force takes them', async () => {
    const apply = (displayName: string, ...flags: string[]) =>
      folder.run(['apply', '-f', '-', '--server-side', ...flags], {
        stdin: `apiVersion: coppice.dev/v1\nkind: Image\nmetadata: {name: ssa}\nspec: {displayName: ${displayName}, guestOS: linux, source: {path: p}}\n`,
      });
    assert.equal((await apply('one')).stdout, 'image.coppice.dev/ssa serverside-applied\n');
    const refused = await apply('two', '--field-manager', 'other');
    assert.equal(refused.code, 1);
    assert.match(
      refused.stderr,
      /Apply failed with 1 conflict: conflict with "coppice": \.spec\.displayName\nhint: .*--force/,
    );
    const forced = await apply('two', '--field-manager', 'other', '--force-conflicts', '-o', 'json');
    assert.equal(JSON.parse(forced.stdout).spec.displayName, 'two');
    const get = (...flags: string[]) => folder.run(['get', 'image/ssa', '-o', 'json', ...flags]);
    assert.equal(JSON.parse((await get()).stdout).metadata.managedFields, undefined);
    const { managedFields } = JSON.parse((await get('--show-managed-fields')).stdout).metadata;
    const owners = managedFields.map(
      (entry: { manager: string; operation: string }) => `${entry.manager} ${entry.operation}`,
    );
    assert.deepEqual(owners.sort(), ['coppice Apply', 'other Apply']);
    await folder.run(['delete', '-y', 'image/ssa']);
  });

  it('show it as a table, as JSON, in full and on one screen', async () => {
    const table = await folder.run(['get', 'vms', '-A'], { tty: true });
    assert.match(table.stdout, /^NAMESPACE +NAME +PHASE +READY +HOST +IMAGE +POOL +AGE\ndemo +hello /);
    assert.equal(JSON.parse((await folder.run(['get', 'vms', '-A'])).stdout).items[0].metadata.name, 'hello');
    assert.match((await folder.run(['describe', 'vm', 'hello'])).stdout, /^Name: +hello\nNamespace: +demo\n/);
    assert.match((await folder.run(['status', '-o', 'table'])).stdout, /^VMs +1: 1 Pending$/m);
  });

  it('name the unknown field, the wrong type and the missing namespace, and where they stand', async () => {
    const vm = (namespace: string, spec: string) =>
      `apiVersion: coppice.dev/v1\nkind: VM\nmetadata: {name: x, namespace: ${namespace}}\nspec: ${spec}\n`;
    const cases: [string, RegExp][] = [
      [vm('demo', '{image: tiny-linux, bogus: 1}'), /^error: stdin, document 1, line 1: .*unknown field "spec\.bogus"/],
      [vm('demo', '{image: 7}'), /^error: stdin, document 1, line 1: .*spec\.image/],
      [vm('nowhere', '{image: tiny-linux}'), /namespaces "nowhere" not found\nhint: create the tenant first/],
      [
        'apiVersion: coppice.dev/v1\nkind: Vn\nmetadata: {name: x}\n',
        /the server has no kind "Vn" in "coppice\.dev\/v1"/,
      ],
    ];
    for (const [text, message] of cases) {
      const { code, stderr } = await folder.run(['apply', '-f', '-'], { stdin: text });
      assert.equal(code, 1, text);
      assert.match(stderr, message);
    }
    assert.equal((await folder.run(['get', 'vms'])).code, 0);
  });

  it('say that a VM without a host cannot run a command, with exit code 125', async () => {
    await folder.run(['apply', '-f', '-'], {
      stdin:
        'apiVersion: coppice.dev/v1\nkind: VM\nmetadata: {name: "off"}\nspec: {image: tiny-linux, power: Stopped, size: small}\n',
    });
    assert.equal((await folder.run(['exec', 'off', '--', 'true'])).code, 125);
    const logs = await folder.run(['logs', 'off']);
    assert.equal(logs.code, 1);
    assert.match(logs.stderr, /^error: /);
  });

  it('delete what a file names', async () => {
    const { code, stdout } = await folder.run(['delete', '-y', '-f', `${quickstart}/image.yaml`]);
    assert.deepEqual([code, stdout], [0, 'image.coppice.dev "tiny-linux" deleted\n']);
    assert.equal((await folder.run(['get', 'image', 'tiny-linux'])).code, 1);
  });

  it('write all they have to say into a pipe, of which it takes 64 KiB at once', async () => {
    const names = Array.from({ length: 50 }, (_, i) => `large-${i}`);
    const image = (name: string) =>
      `{apiVersion: coppice.dev/v1, kind: Image, metadata: {name: ${name}, annotations: {a: ${'x'.repeat(4000)}}}, spec: {guestOS: linux, source: {path: p}}}`;
    await folder.run(['apply', '-f', '-'], { stdin: names.map(image).join('\n---\n') });
    const program = [join(packageRoot(), 'bin', 'run.js'), 'get', 'images', '-o', 'json'];
    const { stdout } = await promisify(execFile)(process.execPath, program, {
      env: { ...process.env, KUBECONFIG: join(folder.path, 'kubeconfig') },
      maxBuffer: 16 << 20,
    });
    const listed = JSON.parse(stdout).items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
    for (const name of names) assert.ok(listed.includes(name), name);
  });
});
