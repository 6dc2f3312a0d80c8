// What `npm start` and `npm test` need beyond the checkout, and how it gets here. Plain JavaScript that Node.js 20 can run, with nothing
// but Node.js itself: it is what brings the rest.
import { spawn } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Something that is not there and could not be installed; `hint` is the command that would. */
export class SetupError extends Error {
  constructor(message, hint) {
    super(message);
    this.hint = hint;
  }
}

/** Whether a program is on PATH. */
export function hasProgram(name) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return folder !== '';
    } catch {
      return false;
    }
  });
}

/** `COPPICE_SETUP=skip` installs nothing. */
const installs = () => process.env.COPPICE_SETUP !== 'skip';

/** npm's packages, and with them Node.js 24 on Linux. */
export async function ensurePackages(root) {
  if (existsSync(join(root, 'node_modules', '.package-lock.json'))) return;
  if (!installs()) throw new SetupError('the npm packages are not installed', 'npm ci');
  await step('installing npm packages', () => run('npm', ['ci', '--no-fund', '--no-audit', '--loglevel=error'], root));
}

/** The Node.js to run with: the one from the lock, else this one if it is new enough. */
export function nodeFor(root) {
  const own = join(root, 'node_modules', '.bin', 'node');
  if (existsSync(own)) return own;
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 24 || (major === 24 && minor >= 11)) return process.execPath;
  const hint = process.platform === 'darwin' ? 'brew install node@24' : 'npm ci --include=optional';
  throw new SetupError(`this is Node.js ${process.versions.node}; coppice needs 24.11 or newer`, hint);
}

const isDebian = () => process.platform === 'linux' && existsSync('/etc/debian_version') && hasProgram('apt-get');
const isRoot = () => process.getuid?.() === 0;

/** What running and building real guests takes, by Debian package. */
function guestNeeds() {
  const arm = process.arch === 'arm64';
  const emulator = arm ? 'qemu-system-aarch64' : 'qemu-system-x86_64';
  // musl makes the agent in the guest a tenth of the size; any C compiler with its headers will do.
  const compiler = hasProgram('musl-gcc') || (hasProgram('gcc') && existsSync('/usr/include/stdio.h'));
  return [
    { package: arm ? 'qemu-system-arm' : 'qemu-system-x86', there: hasProgram(emulator) },
    { package: 'qemu-utils', there: hasProgram('qemu-img') },
    { package: 'musl-tools', there: compiler },
  ];
}

/**
 * QEMU and a C compiler. Installs what is missing where that can be done without asking: on Debian, as root. Answers what is still missing
 * and the command that would bring it, or undefined.
 */
export async function ensureGuestTools() {
  for (const need of guestNeeds()) {
    if (!need.there && installs() && isDebian() && isRoot())
      await step(`installing ${need.package}`, () => apt(need.package));
  }
  const missing = guestNeeds().filter((need) => !need.there);
  if (missing.length === 0) return undefined;
  const packages = missing.map((need) => need.package).join(' ');
  const sudo = isRoot() ? '' : 'sudo ';
  if (isDebian()) return { packages, command: `${sudo}apt-get install --no-install-recommends ${packages}` };
  if (process.platform === 'darwin') return { packages: 'QEMU', command: 'brew install qemu' };
  return {
    packages: 'QEMU, qemu-img and a C compiler',
    command: 'install them with the package manager of this system',
  };
}

/** Where etcd is unpacked for the tests; the tests look there after PATH. */
const etcdFolder = (root) => join(root, 'node_modules', '.cache', 'etcd');

/**
 * etcd for the tests. On Debian its package is unpacked into a folder of ours and not installed, as installing starts a server: no root is
 * needed. Answers the command that would bring it where it is still missing, or undefined.
 */
export async function ensureEtcd(root) {
  const folder = etcdFolder(root);
  if (hasProgram('etcd') || existsSync(join(folder, 'usr', 'bin', 'etcd'))) return undefined;
  if (installs() && isDebian()) {
    const made = await step('unpacking etcd', () => unpack('etcd-server', folder)).catch((error) => error);
    if (made === undefined) return undefined;
    return `apt-get download etcd-server && dpkg-deb -x etcd-server_*.deb ${folder} (tried: ${made.message.trim()})`;
  }
  return process.platform === 'darwin' ? 'brew install etcd' : 'install etcd with the package manager of this system';
}

/** The files of a Debian package, put in place in one step. */
async function unpack(name, folder) {
  mkdirSync(join(folder, '..'), { recursive: true });
  const work = mkdtempSync(`${folder}-`);
  try {
    await withLists(() => run('apt-get', ['download', '-qq', '-o', 'APT::Sandbox::User=root', name], work));
    const file = readdirSync(work).find((entry) => entry.endsWith('.deb'));
    await run('dpkg-deb', ['-x', file, 'files'], work);
    rmSync(folder, { recursive: true, force: true });
    renameSync(join(work, 'files'), folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function apt(name) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  await withLists(() => run('apt-get', ['install', '-qq', '-y', '--no-install-recommends', name], '/', env));
}

/** The lists of packages are fetched, where that is allowed, only if what is wanted is not in them, or in them no more as it was. */
async function withLists(work) {
  try {
    await work();
  } catch (error) {
    if (!/Unable to locate package|has no installation candidate|404|Failed to fetch|Can't find/.test(error.message))
      throw error;
    if (!isRoot()) throw error;
    await run('apt-get', ['update', '-qq'], '/');
    await work();
  }
}

/** Runs a program quietly; what it said last is the error if it fails. */
function run(program, args, cwd, env = process.env) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    const keep = (text) => {
      said = (said + text).slice(-4000);
    };
    child.stdout.setEncoding('utf8').on('data', keep);
    child.stderr.setEncoding('utf8').on('data', keep);
    child.on('error', (error) => reject(new SetupError(`${program} cannot be run: ${error.message}`)));
    child.on('close', (code, signal) => {
      if (code === 0) resolve();
      else reject(new SetupError(`${program} ${args[0]} failed (${code ?? signal}):\n${said.trim()}`));
    });
  });
}

/** One line for a step, with how long it took; on a terminal the seconds count while it runs. */
export async function step(what, work) {
  const began = performance.now();
  const seconds = () => ((performance.now() - began) / 1000).toFixed(1);
  const live = process.stdout.isTTY === true;
  const tick = live ? setInterval(() => process.stdout.write(`\r${what} … ${seconds()} s`), 200) : undefined;
  try {
    await work();
    process.stdout.write(`${live ? '\r' : ''}${what} … ${seconds()} s\n`);
  } catch (error) {
    if (live) process.stdout.write('\n');
    throw error;
  } finally {
    clearInterval(tick);
  }
}

/** Prints a failure the way the CLI does and ends the process. */
export function fail(error) {
  process.stderr.write(`error: ${error.message}\n`);
  if (error.hint !== undefined) process.stderr.write(`hint: ${error.hint}\n`);
  if (!(error instanceof SetupError)) process.stderr.write(`${error.stack}\n`);
  process.exit(1);
}
