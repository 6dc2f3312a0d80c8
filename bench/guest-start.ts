/**
 * What the driver adds to the start of a guest (goal 22): create, start and the agent's first answer, against a bare spawn of the same command line with
 * the agent's client on its socket. The two take turns; medians are printed.
 */
import { spawn } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { arch, tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectAgent } from '../nodelet/agent/agent-connection.ts';
import type { GuestSpec } from '../nodelet/drivers/driver.ts';
import { guestArgv } from '../nodelet/drivers/qemu/argv.ts';
import { guestFiles } from '../nodelet/drivers/qemu/guest-files.ts';
import { procProcesses } from '../nodelet/drivers/qemu/host-processes.ts';
import { findQemu } from '../nodelet/drivers/qemu/installation.ts';
import { QemuDriver } from '../nodelet/drivers/qemu/qemu-driver.ts';
import { buildTinyLinux } from '../nodelet/images/build-tiny-linux.ts';
import { silentLogger } from '../resources/ambient/log.ts';
import { systemClock as clock } from '../resources/ambient/system-clock.ts';
import { systemIds as ids } from '../resources/ambient/system-ids.ts';

const { signal } = new AbortController();
const packageRoot = join(import.meta.dirname, '..');
const cache = join(packageRoot, 'node_modules/.cache/coppice');
const imagesRoot = join(cache, 'images');
const outDir = join(imagesRoot, 'tiny-linux');
const built = await buildTinyLinux(
  { outDir, cacheDir: join(cache, 'packages'), packageRoot, report: () => {} },
  signal,
);
const root = join(tmpdir(), `coppice-bench-${process.pid}`);
const sockets = { root: tmpdir(), userId: process.getuid?.() ?? 0 };
const architecture = arch() === 'arm64' ? 'aarch64' : 'x86_64';
const rounds = Number(process.argv[2] ?? 7);

const aGuest = (id: string): GuestSpec => ({
  id,
  label: `bench/${id}`,
  hostname: id,
  guestOS: 'linux',
  image: { path: 'tiny-linux', digest: built.facts.digest },
  vcpus: 1,
  memoryBytes: 128 * 1024 ** 2,
  diskBytes: 0,
  epoch: 1,
});

async function throughDriver(driver: QemuDriver, id: string): Promise<number> {
  const began = clock.monotonic();
  const ended = new AbortController();
  const changes = driver.changes(ended.signal);
  await driver.create(aGuest(id), signal);
  await driver.start(id, signal);
  for await (const _ of changes)
    if ((await driver.list(signal)).some((guest) => guest.id === id && guest.agentReady === true)) break;
  const took = clock.monotonic() - began;
  ended.abort();
  await driver.remove(id, signal);
  return took;
}

async function bare(id: string): Promise<number> {
  const qemu = await findQemu(architecture, { clock }, signal);
  const files = guestFiles(join(root, id), sockets);
  const { kernel, initrd, kernelArguments } = built.manifest;
  const image = { kernel: join(outDir, kernel), initrd: join(outDir, initrd), kernelArguments };
  const argv = guestArgv(aGuest(id), { ...qemu, accelerator: 'tcg', files, image }).filter((word) => word !== '-S');
  const began = clock.monotonic();
  await mkdir(files.dir, { recursive: true });
  await writeFile(files.console, '');
  const child = spawn(qemu.binary, argv, { stdio: 'ignore' });
  await using _agent = await connectAgent({ socketPath: files.agentSocket, clock, ids }, signal);
  const took = clock.monotonic() - began;
  child.kill('SIGKILL');
  await new Promise((resolve) => child.once('exit', resolve));
  return took;
}

const median = (numbers: number[]) =>
  Math.round(numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN);

const driver = await QemuDriver.open(
  {
    root,
    imagesRoot,
    clock,
    ids,
    log: silentLogger,
    processes: procProcesses('/proc'),
    sockets,
    architecture,
    accelerator: 'tcg',
    kvmDevice: '/dev/kvm',
  },
  signal,
);
const ours: number[] = [];
const control: number[] = [];
for (let round = 0; round < rounds; round++) {
  control.push(await bare(`bare-${round}`));
  ours.push(await throughDriver(driver, `guest-${round}`));
}
await driver[Symbol.asyncDispose]();
await rm(root, { recursive: true, force: true });
const [a, b] = [median(control), median(ours)];
process.stdout.write(
  `guest start to agent, ${rounds} rounds, TCG, medians: bare ${a} ms, driver ${b} ms, added ${b - a} ms\n`,
);
