import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const BIN = fileURLToPath(new URL('../../bin', import.meta.url));
const ARM = process.arch === 'arm64';
const EMULATOR = ARM ? 'qemu-system-aarch64' : 'qemu-system-x86_64';
const PACKAGE = ARM ? 'qemu-system-arm' : 'qemu-system-x86';
const TOOLS = [EMULATOR, 'qemu-img', 'musl-gcc'];
const NOBODY = 65534;
const debianRoot = existsSync('/etc/debian_version') && process.getuid?.() === 0;

/** A checkout whose control plane only says how it was called, and a PATH with nothing but what the test puts on it. */
class Checkout implements AsyncDisposable {
  readonly root: string;

  private constructor(root: string) {
    this.root = root;
  }

  static async make(programs: readonly string[], options: { readonly packages: boolean }): Promise<Checkout> {
    const checkout = new Checkout(await mkdtemp(join(tmpdir(), 'coppice-start-')));
    await chmod(checkout.root, 0o755);
    for (const folder of ['bin', 'path', 'node_modules']) await mkdir(join(checkout.root, folder));
    for (const file of ['start.js', 'setup.js']) await copyFile(join(BIN, file), join(checkout.root, 'bin', file));
    await writeFile(join(checkout.root, 'package.json'), '{"type": "module"}');
    if (options.packages) await writeFile(join(checkout.root, 'node_modules', '.package-lock.json'), '{}');
    await checkout.script('bin/coppice', 'echo "ran: $*"; exit 7');
    for (const program of programs) await checkout.program(program, '');
    return checkout;
  }

  /** A program on PATH that notes how it was called before it does `body`. */
  program(name: string, body: string): Promise<void> {
    return this.script(`path/${name}`, `echo "${name} $*" >> "${this.root}/calls"\n${body}`);
  }

  async script(file: string, body: string): Promise<void> {
    await writeFile(join(this.root, file), `#!/bin/sh\n${body}\n`);
    await chmod(join(this.root, file), 0o755);
  }

  async calls(): Promise<string[]> {
    return existsSync(`${this.root}/calls`) ? (await readFile(`${this.root}/calls`, 'utf8')).trim().split('\n') : [];
  }

  start(flags: readonly string[], env: Record<string, string> = {}, uid?: number): ChildProcess {
    return spawn(process.execPath, [join(this.root, 'bin/start.js'), ...flags], {
      env: { PATH: join(this.root, 'path'), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(uid === undefined ? {} : { uid, gid: uid }),
    });
  }

  async run(flags: readonly string[] = [], env: Record<string, string> = {}, uid?: number) {
    const child = this.start(flags, env, uid);
    let stdout = '';
    let stderr = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    const [code] = await once(child, 'close');
    return { code: code as number, stdout, stderr };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.root, { recursive: true, force: true });
  }
}

/** An apt-get that brings what it is asked for. */
const brings = (checkout: Checkout) =>
  `for last; do :; done; case $last in ${PACKAGE}) p=${EMULATOR};; qemu-utils) p=qemu-img;; *) p=musl-gcc;; esac
printf '#!/bin/sh\\n' > ${checkout.root}/path/$p; /bin/chmod +x ${checkout.root}/path/$p`;

describe('npm start', () => {
  it('hands over at once when everything is there, with its flags and the exit code', async () => {
    await using checkout = await Checkout.make([...TOOLS, 'apt-get', 'npm'], { packages: true });
    assert.deepEqual(await checkout.run(['--port', '0']), { code: 7, stdout: 'ran: up --port 0\n', stderr: '' });
    assert.deepEqual(await checkout.calls(), []);
  });

  it('installs the npm packages when they are not there', async () => {
    await using checkout = await Checkout.make([...TOOLS, 'npm'], { packages: false });
    const { stdout } = await checkout.run();
    assert.match(stdout, /^installing npm packages … \d+\.\d s\nran: up\n$/);
    assert.deepEqual(await checkout.calls(), ['npm ci --no-fund --no-audit --loglevel=error']);
  });

  it('says what npm said when that fails, and starts nothing', async () => {
    await using checkout = await Checkout.make(TOOLS, { packages: false });
    await checkout.program('npm', 'echo "no space left" >&2; exit 3');
    const { code, stdout, stderr } = await checkout.run();
    assert.deepEqual([code, stdout], [1, '']);
    assert.equal(stderr, 'error: npm ci failed (3):\nno space left\n');
  });

  it('installs nothing with COPPICE_SETUP=skip: a must is an error with the command, QEMU is simulated', async () => {
    await using bare = await Checkout.make(['npm', 'apt-get'], { packages: false });
    const refused = await bare.run([], { COPPICE_SETUP: 'skip' });
    assert.deepEqual(refused, {
      code: 1,
      stdout: '',
      stderr: 'error: the npm packages are not installed\nhint: npm ci\n',
    });
    await using checkout = await Checkout.make(['npm', 'apt-get'], { packages: true });
    const { code, stdout } = await checkout.run([], { COPPICE_SETUP: 'skip' });
    assert.equal(code, 7);
    assert.match(stdout, /VMs are simulated; for real ones:\n {2}.*\nran: up\n$/);
    assert.deepEqual([...(await bare.calls()), ...(await checkout.calls())], []);
  });

  it('needs nothing for guests that are simulated by choice', async () => {
    await using checkout = await Checkout.make([], { packages: true });
    for (const flags of [['--driver', 'sim'], ['--driver=sim']])
      assert.equal((await checkout.run(flags)).stdout, `ran: up ${flags.join(' ')}\n`);
  });

  it('passes Ctrl-C on and ends as the control plane ends', async () => {
    await using checkout = await Checkout.make(TOOLS, { packages: true });
    await checkout.script(
      'bin/coppice',
      "trap 'echo stopped; exit 0' INT\necho serving\ni=0; while [ $i -lt 100 ]; do i=$((i+1)); /bin/sleep 0.1; done",
    );
    const child = checkout.start([]);
    let stdout = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      if (text.includes('serving')) child.kill('SIGINT');
    });
    const [code] = await once(child, 'close');
    assert.deepEqual([code, stdout], [0, 'serving\nstopped\n']);
  });

  describe('on Debian as root', () => {
    before(function () {
      if (debianRoot) return;
      console.error('skip: what npm start installs is tried on Debian as root only');
      this.skip();
    });

    it('installs QEMU and a compiler, a line each, and fetches no lists it does not need', async () => {
      await using checkout = await Checkout.make([], { packages: true });
      await checkout.program('apt-get', brings(checkout));
      const { stdout } = await checkout.run();
      const line = (name: string) => `installing ${name} … \\d+\\.\\d s\n`;
      assert.match(stdout, new RegExp(`^${[PACKAGE, 'qemu-utils', 'musl-tools'].map(line).join('')}ran: up\n$`));
      const calls = await checkout.calls();
      assert.deepEqual(
        calls,
        [PACKAGE, 'qemu-utils', 'musl-tools'].map((name) => `apt-get install -qq -y --no-install-recommends ${name}`),
      );
    });

    it('fetches the lists when a package is not in them', async () => {
      await using checkout = await Checkout.make([EMULATOR, 'musl-gcc'], { packages: true });
      const updated = `${checkout.root}/updated`;
      await checkout.program(
        'apt-get',
        `if [ "$1" = update ]; then : > ${updated}; exit 0; fi
[ -e ${updated} ] || { echo "E: Unable to locate package $last" >&2; exit 100; }\n${brings(checkout)}`,
      );
      assert.equal((await checkout.run()).code, 7);
      assert.deepEqual(
        (await checkout.calls()).map((call) => call.split(' ')[1]),
        ['install', 'update', 'install'],
      );
    });

    it('says what apt said when that fails', async () => {
      await using checkout = await Checkout.make([], { packages: true });
      await checkout.program('apt-get', 'echo "E: dpkg was interrupted" >&2; exit 100');
      const { code, stderr } = await checkout.run();
      assert.equal(code, 1);
      assert.match(stderr, /^error: apt-get install failed \(100\):\nE: dpkg was interrupted\n/);
    });

    it('as somebody else installs nothing and says what to do', async () => {
      await using checkout = await Checkout.make(['apt-get'], { packages: true });
      // A Node.js that this user can reach.
      await symlink(process.execPath, join(checkout.root, 'node_modules', 'node'));
      const { code, stdout } = await checkout.run([], {}, NOBODY);
      assert.equal(code, 7);
      assert.match(
        stdout,
        new RegExp(`\n {2}sudo apt-get install --no-install-recommends ${PACKAGE} qemu-utils musl-tools\nran: up\n$`),
      );
      assert.deepEqual(await checkout.calls(), []);
    });
  });
});
