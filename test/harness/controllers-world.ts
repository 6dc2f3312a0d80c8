import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listen } from '../../apiserver/listen.ts';
import { keepControllersKubeconfig } from '../../apiserver/pki/controllers-kubeconfig.ts';
import { openPki, type Pki } from '../../apiserver/pki/pki-files.ts';
import type { App } from '../../apiserver/requests/server-request.ts';
import { microTime } from '../../resources/ambient/clock.ts';
import { systemClock } from '../../resources/ambient/system-clock.ts';
import { systemIds } from '../../resources/ambient/system-ids.ts';
import { CoordinationLease } from '../../resources/kinds/coordination-lease.ts';
import { Host } from '../../resources/kinds/host.ts';
import { Image } from '../../resources/kinds/image.ts';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { HOST_LEASE_NAMESPACE, hostLeaseName } from '../../resources/streams/control-messages.ts';
import { aHost, anImage, aTenant, aVM } from './builders.ts';
import { startTestServer, type TestServer } from './server.ts';

const COPPICE = join(import.meta.dirname, '..', '..', 'bin', 'coppice');
/** Ten times what is to be expected, on a machine that is busy. */
const DEADLINE_MS = 60_000;

/** A write of a process that was answered. */
interface Write {
  readonly user: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly atMs: number;
}

/** A `coppice controllers` in a process of its own, with a door to the server that is its own and tells what went through. */
export class ControllersProcess implements AsyncDisposable {
  readonly writes: readonly Write[];
  readonly #child: ChildProcess;
  readonly #exit: Promise<unknown>;
  #stdout = '';
  #stderr = '';

  constructor(args: readonly string[], writes: readonly Write[]) {
    this.writes = writes;
    const env = { ...process.env, COPPICE_SETUP: 'skip', KUBECONFIG: '' };
    this.#child = spawn(COPPICE, ['controllers', ...args], { stdio: ['ignore', 'pipe', 'pipe'], env });
    this.#exit = once(this.#child, 'exit');
    this.#child.stdout?.on('data', (data) => {
      this.#stdout += data;
    });
    this.#child.stderr?.on('data', (data) => {
      this.#stderr += data;
    });
  }

  get stdout(): string {
    return this.#stdout;
  }

  get stderr(): string {
    return this.#stderr;
  }

  /** Writes of duties, those of the election left out. */
  get dutyWrites(): readonly Write[] {
    return this.writes.filter(({ user }) => user !== 'system:controller:election');
  }

  /** The duties it said last that it leads. */
  get leads(): readonly string[] {
    const last = this.#stdout.split('\n').findLast((line) => line.startsWith('leads '));
    return last === undefined || last === 'leads nothing' ? [] : last.slice('leads '.length).split(', ');
  }

  async says(pattern: RegExp): Promise<void> {
    await soon(
      `it says ${pattern}`,
      () => pattern.test(this.#stdout),
      () => this.#stdout + this.#stderr,
    );
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Resolves with the code when it has ended, however it does. */
  async ended(): Promise<number | null> {
    await this.#exit;
    return this.#child.exitCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill('SIGKILL');
    await this.#exit;
  }
}

/** Resolves when `holds` does; throws with `what` and what `told` says when it does not within a minute. */
export async function soon(what: string, holds: () => boolean | Promise<boolean>, told = () => ''): Promise<void> {
  const beganMs = systemClock.monotonic();
  while (!(await holds())) {
    if (systemClock.monotonic() - beganMs > DEADLINE_MS) throw new Error(`never came true: ${what}\n${told()}`);
    await systemClock.sleep(5);
  }
}

/** A real server in this process without controllers of its own, for processes of them. */
export class ControllersWorld implements AsyncDisposable {
  readonly test: TestServer;
  readonly folder: string;
  readonly #pki: Pki;
  readonly #held = new AsyncDisposableStack();
  #processes = 0;

  private constructor(test: TestServer, folder: string, pki: Pki) {
    this.test = test;
    this.folder = folder;
    this.#pki = pki;
  }

  /** With a host that is heard, an image and a tenant, so that VMs can be bound. */
  static async start(): Promise<ControllersWorld> {
    const folder = mkdtempSync(join(tmpdir(), 'coppice-controllers-'));
    const pki = await openPki(join(folder, 'pki'), ['127.0.0.1'], systemClock, systemIds);
    const world = new ControllersWorld(await startTestServer(), folder, pki);
    world.#held.defer(() => rmSync(folder, { recursive: true, force: true }));
    world.#held.use(world.test);
    return world;
  }

  /** Starts a process; it is killed with the world. */
  async process(...flags: readonly string[]): Promise<ControllersProcess> {
    const writes: Write[] = [];
    const { path } = await this.door(writes);
    return this.#held.use(new ControllersProcess(['--kubeconfig', path, ...flags], writes));
  }

  /** A listener of the server and a kubeconfig for it. */
  async door(writes: Write[] = []): Promise<{ readonly path: string; readonly port: number }> {
    const tls = { ...(await this.#pki.serverLeaf()), ca: this.#pki.caCert };
    const { app, upgrade } = this.test.server;
    const door = this.#held.use(
      await listen({ host: '127.0.0.1', port: 0, tls, app: recorded(app, writes), upgrade, clock: systemClock }),
    );
    const folder = join(this.folder, `door-${++this.#processes}`);
    mkdirSync(folder);
    const path = join(folder, 'controllers.kubeconfig');
    const url = `https://127.0.0.1:${door.port}`;
    await keepControllersKubeconfig({ path, server: url, pki: this.#pki, clock: systemClock });
    return { path, port: door.port };
  }

  async furnish(): Promise<void> {
    const { client } = this.test;
    const { metadata, spec, status } = aHost({ name: 'mac-1', ready: false });
    const { name, labels = {} } = metadata;
    await client
      .resource<Host>(Host)
      .create({ apiVersion: 'coppice.dev/v1', kind: 'Host', metadata: { name, labels }, spec });
    await client.resource<Host>(Host).patch(name, { status }, { subresource: 'status' });
    await client.resource<CoordinationLease>(CoordinationLease, HOST_LEASE_NAMESPACE).create({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: hostLeaseName(name) },
      spec: { holderIdentity: 'test', renewTime: microTime(systemClock.now()) },
    });
    const { metadata: image, status: found, ...rest } = anImage();
    await client.resource<Image>(Image).create({ ...rest, metadata: { name: image.name } });
    await client.resource<Image>(Image).patch(image.name, { status: found }, { subresource: 'status' });
    const tenant = aTenant('red');
    await client.resource<Tenant>(Tenant).create({ ...tenant, metadata: { name: 'red' } });
  }

  async addVM(name: string): Promise<void> {
    const { apiVersion, kind, spec } = aVM({ name, namespace: 'red' });
    const { resolved: _, ...wished } = spec;
    await this.test.client.resource<VM>(VM, 'red').create({ apiVersion, kind, metadata: { name }, spec: wished });
  }

  async isBound(name: string): Promise<boolean> {
    return (await this.test.client.resource<VM>(VM, 'red').get(name)).spec.hostName !== undefined;
  }

  /** Who leads each duty, as its Lease says. */
  async leaders(): Promise<Readonly<Record<string, string>>> {
    const { items } = await this.test.client.resource<CoordinationLease>(CoordinationLease, 'coppice-system').list();
    const duties = items.filter(({ metadata }) => metadata.name.startsWith('duty-'));
    return Object.fromEntries(
      duties.map(({ metadata, spec }) => [metadata.name.slice('duty-'.length), spec?.holderIdentity ?? '']),
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#held[Symbol.asyncDispose]();
  }
}

function recorded(app: App, writes: Write[]): App {
  return async (request) => {
    const response = await app(request);
    const { method, path, headers } = request;
    const user = headers['impersonate-user'] ?? '';
    if (method !== 'GET') writes.push({ user, method, path, status: response.status, atMs: systemClock.monotonic() });
    return response;
  };
}
