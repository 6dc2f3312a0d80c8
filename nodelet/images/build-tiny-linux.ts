import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { ImageFacts } from '../drivers/driver.ts';
import { agentSourceDigest, compileAgent } from './compile-agent.ts';
import { cpio } from './cpio.ts';
import { type DebianPackage, DebianPackages } from './debian-packages.ts';
import { extractVmlinux } from './extract-vmlinux.ts';
import { ImageDigests } from './image-digest.ts';
import { type ImageManifest, parseImageManifest } from './image-manifest.ts';
import { modulesInLoadOrder } from './kernel-modules.ts';
import { type RunCommand, runCommand } from './run-command.ts';
import { type TinyLinuxParts, tinyLinuxTree } from './tiny-linux-tree.ts';

export interface BuildTinyLinux {
  /** The image's folder; made, or replaced in one step when it is out of date. Its last part is the image's name. */
  readonly outDir: string;
  /** Where downloaded packages are kept for the next build; without it they are downloaded into a temporary folder. */
  readonly cacheDir?: string;
  /** The folder that holds `nodelet/agent` and `nodelet/images/tiny-linux`. */
  readonly packageRoot: string;
  /** Runs the host's programs; another one in tests. */
  readonly run?: RunCommand;
  /** Told each step, a sentence each. */
  report(step: string): void;
}

export interface BuiltImage {
  readonly manifest: ImageManifest;
  readonly facts: ImageFacts;
  /** False: the image was there already, made from the same packages and sources. */
  readonly built: boolean;
}

interface Recipe {
  readonly metapackage: string;
  readonly kernelPrefix: string;
  readonly kernelArguments: string;
}

const MODULES = [
  'virtio_pci',
  'virtio_console',
  'virtio_blk',
  'virtio_net',
  'virtio_rng',
  'evdev',
  'button',
  'gpio_keys',
  'ext4',
];
const GUEST_FILES = ['init', 'power-button', 'udhcpc.sh'] as const;

/* What each start can do without: checks for hardware a guest has not, mitigations within a guest that runs one tenant's programs, self-tests. */
const ARGUMENTS =
  'quiet panic=-1 mitigations=off cryptomgr.notests random.trust_cpu=on rcupdate.rcu_expedited=1 audit=0 apparmor=0';
const PC_ARGUMENTS = 'no_timer_check tsc=unstable 8250.nr_uarts=1 i8042.noaux i8042.nopnp';

const RECIPES: Readonly<Record<string, Recipe>> = {
  x64: {
    metapackage: 'linux-image-cloud-amd64',
    kernelPrefix: 'linux-image-',
    kernelArguments: `console=ttyS0 ${ARGUMENTS} ${PC_ARGUMENTS}`,
  },
  arm64: {
    metapackage: 'linux-image-cloud-arm64',
    kernelPrefix: 'linux-image-',
    kernelArguments: `console=ttyAMA0 ${ARGUMENTS}`,
  },
};

/**
 * Makes the tiny Linux image (kernel, initramfs, `image.json`) from Debian packages and the agent's sources. Equal packages and sources give equal
 * bytes: nothing of the host, the place or the time gets in. Needs no root. An image that is up to date is left alone.
 * Rejects with a sentence saying what is missing and the command that brings it.
 */
export async function buildTinyLinux(options: BuildTinyLinux, signal: AbortSignal): Promise<BuiltImage> {
  const run = options.run ?? runCommand;
  const digests = new ImageDigests();
  const plan = await planImage(options, run, signal);
  const old = await existingManifest(options.outDir);
  if (old !== undefined && JSON.stringify(old) === JSON.stringify(plan.manifest)) {
    const facts = await digests.facts(options.outDir, signal).catch(() => undefined);
    if (facts !== undefined) return { manifest: plan.manifest, facts, built: false };
  }
  await mkdir(dirname(options.outDir), { recursive: true });
  const temporary = await mkdtemp(`${options.outDir}.building-`);
  try {
    const made = join(temporary, 'image');
    await mkdir(made);
    await makeImage({ ...options, run, plan, scratch: temporary, made }, signal);
    const facts = await digests.facts(made, signal);
    if (facts === undefined) throw new Error(`the image in ${made} vanished while it was made`);
    await replaceFolder(made, options.outDir, join(temporary, 'old'));
    return { manifest: plan.manifest, facts, built: true };
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

interface Plan {
  readonly kernel: DebianPackage;
  readonly busybox: DebianPackage;
  readonly manifest: ImageManifest;
}

/** What the image would be made from, and so what its manifest would say. */
async function planImage(options: BuildTinyLinux, run: RunCommand, signal: AbortSignal): Promise<Plan> {
  const recipe = RECIPES[process.arch];
  if (recipe === undefined)
    throw new Error(`no tiny-linux for processor ${process.arch}; there is one for x64 and arm64`);
  const packages = new DebianPackages(run);
  const kernel = await packages.find(
    await packages.dependency(recipe.metapackage, recipe.kernelPrefix, signal),
    signal,
  );
  const busybox = await packages.find('busybox-static', signal);
  const manifest: ImageManifest = {
    schema: 1,
    name: basename(options.outDir),
    guestOS: 'linux',
    kernel: 'vmlinux',
    initrd: 'initrd.cpio',
    agent: true,
    kernelArguments: recipe.kernelArguments,
    kernelVersion: kernel.name.slice(recipe.kernelPrefix.length),
    packages: { [busybox.name]: busybox.version, [kernel.name]: kernel.version },
    agentSource: await agentSourceDigest(join(options.packageRoot, 'nodelet/agent')),
    guestSource: await guestSourceDigest(guestFilesDir(options)),
  };
  return { kernel, busybox, manifest };
}

interface Making extends BuildTinyLinux {
  readonly run: RunCommand;
  readonly plan: Plan;
  readonly scratch: string;
  readonly made: string;
}

async function makeImage(making: Making, signal: AbortSignal): Promise<void> {
  const { plan, scratch, made, report } = making;
  const packages = new DebianPackages(making.run);
  const cacheDir = making.cacheDir ?? join(scratch, 'debs');
  const agent = join(scratch, 'agent');
  report('compiling the guest agent');
  await compileAgent({ sourceDir: join(making.packageRoot, 'nodelet/agent'), out: agent, run: making.run }, signal);
  for (const wanted of [plan.kernel, plan.busybox]) {
    report(`fetching ${wanted.name} ${wanted.version}`);
    const file = await packages.download(wanted, cacheDir, signal);
    await packages.unpack(file, join(scratch, 'root'), signal);
  }
  report('packing the kernel and the initramfs');
  const root = join(scratch, 'root');
  const kernel = await readFile(join(root, 'boot', `vmlinuz-${plan.manifest.kernelVersion}`), { signal });
  // arm64's is the bare Image already.
  await writeFile(join(made, plan.manifest.kernel), process.arch === 'x64' ? extractVmlinux(kernel) : kernel);
  await writeFile(
    join(made, plan.manifest.initrd),
    cpio(tinyLinuxTree(await gatherParts(making, root, agent, signal))),
  );
  await writeFile(join(made, 'image.json'), `${JSON.stringify(plan.manifest, null, 2)}\n`);
}

async function gatherParts(making: Making, root: string, agent: string, signal: AbortSignal): Promise<TinyLinuxParts> {
  const busybox = join(root, 'bin/busybox');
  const modulesDir = join(await libFolder(root), 'modules', making.plan.manifest.kernelVersion);
  const applets = await making.run([busybox, '--list'], { cwd: root }, signal);
  if (applets === 'missing' || applets.code !== 0)
    throw new Error('the busybox of package busybox-static does not run here');
  const files = guestFilesDir(making);
  return {
    busybox: await readFile(busybox),
    applets: applets.stdout.split('\n').filter((name) => /^[A-Za-z0-9._[-]+$/.test(name)),
    modules: await modulesInLoadOrder({ modulesDir, wanted: MODULES, run: making.run }, signal),
    agent: await readFile(agent),
    init: await readFile(join(files, 'init')),
    udhcpc: await readFile(join(files, 'udhcpc.sh')),
    powerButton: await readFile(join(files, 'power-button')),
  };
}

/** Newer Debians keep everything below /usr. */
async function libFolder(root: string): Promise<string> {
  return (await readdir(root)).includes('lib') ? join(root, 'lib') : join(root, 'usr/lib');
}

function guestFilesDir(options: BuildTinyLinux): string {
  return join(options.packageRoot, 'nodelet/images/tiny-linux');
}

/** Over the guest's scripts, and the choices made in this file. */
async function guestSourceDigest(dir: string): Promise<string> {
  const hash = createHash('sha256').update(MODULES.join());
  for (const name of GUEST_FILES) {
    const bytes = await readFile(join(dir, name));
    hash.update(`${name} ${bytes.length}\n`).update(bytes);
  }
  return `sha256:${hash.digest('hex')}`;
}

/** A manifest that cannot be read is one that is out of date. */
async function existingManifest(dir: string): Promise<ImageManifest | undefined> {
  try {
    return parseImageManifest(await readFile(join(dir, 'image.json'), 'utf8'));
  } catch {
    return undefined;
  }
}

/** Guests that run from the old files keep them open. */
async function replaceFolder(made: string, at: string, aside: string): Promise<void> {
  await rename(at, aside).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  await rename(made, at);
}
