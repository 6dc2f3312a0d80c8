import assert from 'node:assert/strict';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findQemu } from '../../../nodelet/drivers/qemu/installation.ts';
import { agentSourceDigest } from '../../../nodelet/images/compile-agent.ts';
import { parseImageManifest } from '../../../nodelet/images/image-manifest.ts';
import { systemClock } from '../../../resources/ambient/system-clock.ts';
import { CliFolder } from '../../harness/run-cli.ts';
import { eventually } from '../../nodelet/drivers/eventually.ts';
import { tinyLinux } from '../../nodelet/drivers/qemu/tiny-linux.ts';
import { UpProcess } from './up-process.ts';

const PACKAGE_ROOT = join(import.meta.dirname, '../../..');
const ARGS = ['--driver', 'qemu', '--port', '0'];

describe('coppice up with guests in QEMU', function () {
  this.timeout(90_000);
  let folder: CliFolder;
  let home: string;
  const guests = new Set<number>();

  before(async function () {
    const images = await imagesRoot();
    const missing = typeof images === 'string' ? images : await whyNoQemu();
    if (typeof images === 'string' || missing !== undefined) {
      process.stderr.write(`skipped: ${missing}\n`);
      this.skip();
    }
    folder = await CliFolder.make();
    home = join(folder.path, 'home');
    cpSync(join(images.root, 'tiny-linux'), join(home, 'images', 'tiny-linux'), { recursive: true });
  });
  after(async () => {
    for (const pid of guests) if (isGuest(pid)) process.kill(pid, 'SIGKILL');
    await folder?.[Symbol.asyncDispose]();
  });

  const isGuest = (pid: number) => argvOf(pid).includes(home);
  const guest = (): number => {
    const hosts = join(home, 'hosts');
    for (const file of readdirSync(hosts, { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('/qemu.pid')) continue;
      const pid = Number(readFileSync(join(hosts, file), 'utf8'));
      guests.add(pid);
      return pid;
    }
    throw new Error('no guest has a process');
  };
  const cli = async (...argv: string[]) => {
    const run = await folder.run([argv[0] ?? '', '--kubeconfig', join(home, 'kubeconfig'), ...argv.slice(1)]);
    assert.equal(run.code, 0, `${argv.join(' ')}: ${run.stderr}`);
    return run.stdout;
  };

  it('leaves the guest running when it stops, finds it again, and ends it when it is deleted', async () => {
    await using first = new UpProcess(home, ARGS);
    await first.says(/Ctrl-C stops/, 60_000);
    assert.match(first.stdout, /^ {2}guests run in /m);
    assert.match(first.stdout, /^✓ VM demo\/hello is Ready/m);
    assert.doesNotMatch(first.stdout, /image tiny-linux {2}/);
    assert.equal(JSON.parse(await cli('get', 'hosts', '-o', 'json')).items[0].spec.group, 'local');
    const pid = guest();
    assert.ok(isGuest(pid));
    assert.match(await cli('exec', '-n', 'demo', 'hello', '--', 'uname', '-s'), /^Linux/);
    // To the whole group, as a terminal does: it must not reach the guest.
    assert.equal((await first.end('SIGINT')).code, 0);
    assert.ok(isGuest(pid));

    await using second = new UpProcess(home, ARGS);
    await second.says(/^✓ VM demo\/hello is Ready/m, 30_000);
    assert.equal(guest(), pid);
    await cli('delete', 'vm', 'hello', '-n', 'demo', '-y');
    await eventually('its process is gone', () => !isGuest(pid));
    assert.equal((await second.end('SIGINT')).code, 0);
  });
});

/** The folder that holds the image, or why there is none. To ask apt whether there are newer packages takes seconds, and is no matter of these tests. */
async function imagesRoot(): Promise<{ readonly root: string } | string> {
  const root = join(PACKAGE_ROOT, 'node_modules/.cache/coppice/images');
  try {
    const { agentSource } = parseImageManifest(readFileSync(join(root, 'tiny-linux', 'image.json'), 'utf8'));
    if (agentSource === (await agentSourceDigest(join(PACKAGE_ROOT, 'nodelet/agent')))) return { root };
  } catch {
    // Not built yet, or not whole: it is made below.
  }
  const made = await tinyLinux();
  return typeof made === 'string' ? made : { root: made.imagesRoot };
}

async function whyNoQemu(): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'guests are found by /proc in this test';
  try {
    await findQemu(
      process.arch === 'arm64' ? 'aarch64' : 'x86_64',
      { clock: systemClock },
      new AbortController().signal,
    );
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function argvOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
