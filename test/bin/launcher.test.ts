import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const LAUNCHER = fileURLToPath(new URL('../../bin/coppice', import.meta.url));

describe('the launcher', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'coppice-launcher-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('starts the CLI through links, from any folder, on the Node.js of the lock', async () => {
    await symlink(LAUNCHER, join(folder, 'there'));
    await symlink('there', join(folder, 'kubectl-coppice'));
    const env = { PATH: '/usr/bin:/bin', HOME: folder, COPPICE_HOME: folder };
    const { stdout } = await run(join(folder, 'kubectl-coppice'), ['version', '-o', 'json'], { cwd: '/', env });
    const { client, server } = JSON.parse(stdout);
    assert.match(client.node, /^24\./);
    assert.match(server.error, /^no kubeconfig/);
  });

  it('lets young objects take no more than 32 MiB', async () => {
    const program = `data:text/javascript,
      import { getHeapSpaceStatistics } from 'node:v8';
      const taken = () => getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size;
      const kept = [];
      let most = 0;
      for (let i = 0; i < 300; i++) {
        kept.push(Array.from({ length: 10000 }, () => [i]));
        most = Math.max(most, taken());
      }
      process.stderr.write(String(most / 2 ** 20));`;
    const env = { PATH: process.env.PATH, HOME: folder, NODE_OPTIONS: `--import "${encodeURI(program)}"` };
    const { stderr } = await run(LAUNCHER, ['version'], { env });
    assert.ok(Number(stderr) > 0 && Number(stderr) <= 32, stderr);
  });

  it('has the parts of a control plane, and nothing else, hold less of what is no longer used', async () => {
    const program = 'data:text/javascript,process.stderr.write(process.execArgv.join())';
    const env = { PATH: process.env.PATH, HOME: folder, NODE_OPTIONS: `--import ${program}` };
    const flagsOf = async (command: string) => (await run(LAUNCHER, [command, '--help'], { env })).stderr;
    for (const command of ['controllers', 'nodelet'])
      assert.match(await flagsOf(command), /--heap-growing-percent=50/, command);
    assert.match(await flagsOf('apiserver'), /--heap-growing-percent=100/);
    for (const command of ['up', 'get']) assert.doesNotMatch(await flagsOf(command), /--heap-growing-percent/, command);
  });

  it('fails where its output could not be written', async function () {
    if (!existsSync('/dev/full')) {
      process.stdout.write('      skipped: there is no /dev/full here\n');
      this.skip();
    }
    const writing = run('sh', ['-c', '"$0" version >/dev/full', LAUNCHER], { env: { ...process.env, HOME: folder } });
    await assert.rejects(writing, { code: 1, stderr: /error: the output was not written: ENOSPC/ });
  });

  it('passes the exit code on and prints no stack', async () => {
    const failing = run(LAUNCHER, ['get', 'vms'], {
      env: { PATH: process.env.PATH, HOME: folder, COPPICE_HOME: folder },
    });
    await assert.rejects(failing, (error: Error & { code?: number; stderr?: string }) => {
      assert.equal(error.code, 1);
      assert.match(error.stderr ?? '', /^error: no kubeconfig: .*\nhint: .*\n$/);
      return true;
    });
  });
});
