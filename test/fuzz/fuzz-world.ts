import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Logger } from '../../resources/ambient/log.ts';
import { silentLogger } from '../../resources/ambient/log.ts';
import { isObject } from '../../resources/meta/object.ts';
import { resourceId } from '../../resources/meta/resource-id.ts';
import { quiesce } from '../harness/eventually.ts';
import { send } from '../harness/raw.ts';
import { type ListeningServer, listenTestServer, startTestServer, type TestServer } from '../harness/server.ts';
import { until } from '../harness/until.ts';
import { DEFINITIONS } from './samples.ts';

/** What must be as before once every request is over. */
interface Level {
  readonly heapBytes: number;
  readonly sockets: number;
  readonly timers: number;
  readonly watches: number;
}

/** The history a server here keeps of a resource: little, so that what is kept on purpose does not hide what is not. */
const RING = { events: 200, bytes: 1 << 20 };

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** A server on a socket of its own, and everything in this process that goes wrong meanwhile. */
export class FuzzWorld implements AsyncDisposable {
  readonly test: TestServer;
  readonly listening: ListeningServer;
  /** Errors logged, exceptions and rejections nobody caught, warnings of the runtime, and what was printed. */
  readonly complaints: string[];
  readonly #stop: () => void;

  private constructor(test: TestServer, listening: ListeningServer, complaints: string[], stop: () => void) {
    this.test = test;
    this.listening = listening;
    this.complaints = complaints;
    this.#stop = stop;
  }

  static async start(): Promise<FuzzWorld> {
    const complaints: string[] = [];
    const log: Logger = {
      ...silentLogger,
      error: (message, fields) => complaints.push(`${message} ${JSON.stringify(fields)}`),
    };
    const folder = mkdtempSync(join(tmpdir(), 'coppice-fuzz-'));
    const test = await startTestServer({ log, ring: RING });
    const listening = await listenTestServer(test, join(folder, 'pki'));
    const unhear = hear(complaints);
    const world = new FuzzWorld(test, listening, complaints, () => {
      unhear();
      rmSync(folder, { recursive: true, force: true });
    });
    await world.furnish();
    return world;
  }

  get wire(): { readonly port: number; readonly caCert: string } {
    return { port: this.listening.listener.port, caCert: this.listening.caCert };
  }

  /** Puts what requests are about: definitions, a tenant with its namespace, an image, a host. */
  async furnish(): Promise<void> {
    const put = (path: string, body: object) => send(this.test.server.app, 'POST', path, { body });
    for (const body of DEFINITIONS) await put('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', body);
    const ours = (kind: string, name: string, spec: object) => ({
      apiVersion: 'coppice.dev/v1',
      kind,
      metadata: { name },
      spec,
    });
    await put('/apis/coppice.dev/v1/tenants', ours('Tenant', 'red', {}));
    await put('/api/v1/namespaces', { metadata: { name: 'red', labels: { 'coppice.dev/tenant': 'red' } } });
    await put('/apis/coppice.dev/v1/images', ours('Image', 'tiny', { guestOS: 'linux', source: { path: 'tiny' } }));
    await put('/apis/coppice.dev/v1/hosts', ours('Host', 'a', {}));
    await put('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'a' } });
  }

  /** Removes every object there is, and forgets the history. */
  async clear(): Promise<void> {
    const { registry } = this.test.server.parts;
    // Definitions last: with one go the objects of its kind.
    const kinds = registry.kinds().filter((kind) => kind.stored);
    kinds.sort(
      (a, b) => Number(a.plural === 'customresourcedefinitions') - Number(b.plural === 'customresourcedefinitions'),
    );
    for (const kind of [...kinds, ...kinds]) {
      const root = `${kind.group === '' ? '/api' : `/apis/${kind.group}`}/${kind.version}`;
      const { body } = await send(this.test.server.app, 'GET', `${root}/${kind.plural}`);
      for (const { metadata } of body.items ?? []) {
        const inside = metadata.namespace === undefined ? '' : `namespaces/${metadata.namespace}/`;
        await this.#remove(`${root}/${inside}${kind.plural}/${metadata.name}`);
      }
    }
    const { store } = this.test;
    await store.compact(store.revision());
    this.test.server.parts.snapshots.clear();
  }

  async #remove(path: string): Promise<void> {
    const { app } = this.test.server;
    const headers = { 'content-type': 'application/merge-patch+json' };
    await send(app, 'DELETE', path);
    await send(app, 'PATCH', path, { headers, body: { metadata: { finalizers: null } } });
    if (!path.startsWith('/api/v1/namespaces/')) return;
    const { body } = await send(app, 'GET', path);
    if (isObject(body.spec))
      await send(app, 'PUT', `${path}/finalize`, { body: { ...body, spec: { finalizers: [] } } });
  }

  get watches(): number {
    const { cache, registry } = this.test.server.parts;
    const ids = new Set(registry.kinds().map(resourceId));
    return [...ids].reduce((sum, id) => sum + cache.resource(id).listeners, 0);
  }

  /** What is open and kept now, once what is closing has closed. */
  async level(before?: Level): Promise<Level> {
    await until('sockets and watches are back to their level', async () => {
      await quiesce();
      return before === undefined || (sockets() <= before.sockets && this.watches <= before.watches);
    }).catch(() => {});
    collectGarbage();
    collectGarbage();
    return {
      heapBytes: process.memoryUsage().heapUsed,
      sockets: sockets(),
      timers: active('Timeout'),
      watches: this.watches,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop();
    await this.listening[Symbol.asyncDispose]();
    await this.test[Symbol.asyncDispose]();
  }
}

const active = (type: string): number => process.getActiveResourcesInfo().filter((name) => name === type).length;
const sockets = (): number => active('TCPSocketWrap') + active('TLSWrap');

/** Listens for what a healthy process does not do. */
function hear(complaints: string[]): () => void {
  const note = (what: string) => (error: unknown) => {
    complaints.push(`${what}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  };
  const heard = (['uncaughtException', 'unhandledRejection', 'warning'] as const).map(
    (event) => [event, note(event)] as const,
  );
  for (const [event, listener] of heard) process.on(event, listener);
  const write = process.stderr.write;
  process.stderr.write = (text: string | Uint8Array) => {
    complaints.push(`printed: ${String(text)}`);
    return true;
  };
  return () => {
    process.stderr.write = write;
    for (const [event, listener] of heard) process.off(event, listener);
  };
}
