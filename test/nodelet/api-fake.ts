import type { ApiRequest, ApiResponse, Transport } from '../../apiserver/client/transport.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import { rfc3339 } from '../../resources/ambient/clock.ts';
import { ApiError, alreadyExists, conflict, notFound } from '../../resources/meta/api-error.ts';
import { isObject, type JsonObject, jsonEqual, type KubeObject, valueAt } from '../../resources/meta/object.ts';

interface Address {
  readonly plural: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

interface Watcher {
  readonly plural: string;
  readonly selects: (object: KubeObject) => boolean;
  readonly events: string[];
  wake: () => void;
}

const encoder = new TextEncoder();

/** As much of a server as a nodelet meets: lists, watches with field selectors, creates, merge patches under a version, finalizers. No rules. */
export class ApiFake {
  readonly objects = new Map<string, KubeObject>();
  /** Requests that changed something, as `PATCH vms/a/status`. */
  readonly writes: string[] = [];
  revision = 100;
  storeUID = 'store-1';
  /** Set: lists of VMs are not answered before it resolves. */
  vmListGate: Promise<void> | undefined;
  readonly #clock: Clock;
  readonly #watchers = new Set<Watcher>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  readonly transport: Transport = async (request) => {
    request.signal?.throwIfAborted();
    try {
      return await this.#answer(request);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return json(error.code, error.toStatus());
    }
  };

  /** The object at `plural/[namespace/]name`. */
  get<T extends KubeObject>(path: string): T | undefined {
    return this.objects.get(path) as T | undefined;
  }

  /** Writes an object as a user or a controller would; a changed spec is a new generation. */
  put(plural: string, object: KubeObject): KubeObject {
    const key = keyOf(plural, object.metadata.namespace, object.metadata.name);
    const before = this.objects.get(key);
    const generation = (before?.metadata.generation ?? 0) + (jsonEqual(before?.spec, object.spec) ? 0 : 1);
    const kept = { ...object, metadata: { ...object.metadata, generation } };
    return this.#store(plural, key, kept, before === undefined ? 'ADDED' : 'MODIFIED');
  }

  /** Changes an object that is there. */
  change(plural: string, path: string, change: (object: KubeObject) => KubeObject): KubeObject {
    const object = this.objects.get(`${plural}/${path}`);
    if (object === undefined) throw new Error(`there is no ${plural}/${path}`);
    return this.put(plural, change(structuredClone(object)));
  }

  /** Removes an object though finalizers hold it, as a lost store would. */
  vanish(plural: string, path: string): void {
    const object = this.objects.get(`${plural}/${path}`);
    if (object !== undefined) this.#remove(plural, object);
  }

  /** Deletes as the server does: what has finalizers stays with a deletionTimestamp. */
  delete(plural: string, path: string): void {
    const object = this.objects.get(`${plural}/${path}`);
    if (object === undefined) throw new Error(`there is no ${plural}/${path}`);
    if ((object.metadata.finalizers ?? []).length === 0) this.#remove(plural, object);
    else {
      const deletionTimestamp = rfc3339(this.#clock.now());
      this.put(plural, { ...object, metadata: { ...object.metadata, deletionTimestamp } });
    }
  }

  async #answer(request: ApiRequest): Promise<ApiResponse> {
    const url = new URL(request.path, 'http://api');
    const address = addressOf(url.pathname);
    if (url.searchParams.get('watch') === 'true') return this.#watch(address, url, request.signal);
    const key = keyOf(address.plural, address.namespace, address.name ?? '');
    const resource = { group: 'coppice.dev', plural: address.plural };
    if (request.method === 'GET' && address.name === undefined) {
      if (address.plural === 'vms') await this.vmListGate;
      return this.#list(address, url);
    }
    if (request.method === 'POST') {
      const object = parse(request.body) as KubeObject;
      if (this.objects.has(`${key}${object.metadata.name}`)) throw alreadyExists(resource, object.metadata.name);
      this.writes.push(`POST ${address.plural}`);
      const uid = `uid-${object.metadata.name}`;
      const spec = { group: 'default', ...(object.spec as JsonObject) };
      return json(201, this.put(address.plural, { ...object, metadata: { ...object.metadata, uid }, spec }));
    }
    const object = this.objects.get(key);
    if (object === undefined) throw notFound(resource, address.name ?? '');
    return request.method === 'PATCH' ? this.#patch(address, object, request) : json(200, object);
  }

  #patch(address: Address, object: KubeObject, request: ApiRequest): ApiResponse {
    const patch = parse(request.body);
    const wanted = valueAt(patch, ['metadata', 'resourceVersion']);
    if (wanted !== undefined && wanted !== object.metadata.resourceVersion) {
      throw conflict({ group: 'coppice.dev', plural: address.plural }, object.metadata.name);
    }
    this.writes.push(`PATCH ${address.plural}/${object.metadata.name}${address.subresource ? '/status' : ''}`);
    const merged = merge(object, patch) as KubeObject;
    const after = address.subresource ? { ...object, status: merged.status } : { ...merged, status: object.status };
    if (after.metadata.deletionTimestamp !== undefined && (after.metadata.finalizers ?? []).length === 0) {
      this.#remove(address.plural, object);
      return json(200, after);
    }
    return json(200, this.put(address.plural, after));
  }

  #list(address: Address, url: URL): ApiResponse {
    const selects = selectorOf(address, url);
    const items = [...this.objects].filter(([key, o]) => key.startsWith(`${address.plural}/`) && selects(o));
    const metadata = { resourceVersion: String(this.revision) };
    return json(200, { kind: 'List', apiVersion: 'v1', metadata, items: items.map(([, object]) => object) });
  }

  /** From now on only: nothing is written between a list and its watch, as both are answered in one turn. */
  #watch(address: Address, url: URL, signal: AbortSignal | undefined): ApiResponse {
    const watcher: Watcher = { plural: address.plural, selects: selectorOf(address, url), events: [], wake() {} };
    const since = Number(url.searchParams.get('resourceVersion'));
    for (const [key, object] of this.objects) {
      const newer = Number(object.metadata.resourceVersion) > since;
      if (newer && key.startsWith(`${address.plural}/`) && watcher.selects(object))
        watcher.events.push(line('ADDED', object));
    }
    this.#watchers.add(watcher);
    const watchers = this.#watchers;
    async function* body() {
      const aborted = () => watcher.wake();
      signal?.addEventListener('abort', aborted);
      try {
        for (;;) {
          signal?.throwIfAborted();
          const next = watcher.events.shift();
          if (next !== undefined) yield encoder.encode(next);
          else {
            await new Promise<void>((resolve) => {
              watcher.wake = resolve;
            });
          }
        }
      } finally {
        watchers.delete(watcher);
        signal?.removeEventListener('abort', aborted);
      }
    }
    return { status: 200, headers: {}, body: body() };
  }

  #store(plural: string, key: string, object: KubeObject, type: string): KubeObject {
    this.revision += 1;
    const before = this.objects.get(key);
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.revision) } };
    this.objects.set(key, stored);
    this.#tell(plural, type, before, stored);
    return stored;
  }

  #remove(plural: string, object: KubeObject): void {
    this.revision += 1;
    this.objects.delete(keyOf(plural, object.metadata.namespace, object.metadata.name));
    const last = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.revision) } };
    this.#tell(plural, 'DELETED', object, last);
  }

  /** What leaves a selection is deleted for its watchers, what enters it is added. */
  #tell(plural: string, type: string, before: KubeObject | undefined, after: KubeObject): void {
    for (const watcher of this.#watchers) {
      if (watcher.plural !== plural) continue;
      const was = before !== undefined && watcher.selects(before);
      const is = type !== 'DELETED' && watcher.selects(after);
      if (!was && !is) continue;
      watcher.events.push(line(is ? (was ? 'MODIFIED' : 'ADDED') : 'DELETED', after));
      watcher.wake();
    }
  }
}

function line(type: string, object: KubeObject): string {
  return `${JSON.stringify({ type, object })}\n`;
}

function addressOf(path: string): Address {
  const parts = path.split('/').slice(4).map(decodeURIComponent);
  const namespace = parts[0] === 'namespaces' ? parts[1] : undefined;
  const [plural = '', name, subresource] = namespace === undefined ? parts : parts.slice(2);
  return { plural, namespace, name, subresource };
}

function keyOf(plural: string, namespace: string | undefined, name: string): string {
  return namespace === undefined ? `${plural}/${name}` : `${plural}/${namespace}/${name}`;
}

function selectorOf(address: Address, url: URL): (object: KubeObject) => boolean {
  const [path, value] = (url.searchParams.get('fieldSelector') ?? '').split('=');
  return (object) => {
    if (address.namespace !== undefined && object.metadata.namespace !== address.namespace) return false;
    return path === undefined || path === '' || valueAt(object, path.split('.')) === value;
  };
}

function merge(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const out: JsonObject = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete out[name];
    else out[name] = merge(out[name], value);
  }
  return out;
}

function parse(body: Uint8Array | undefined): unknown {
  return JSON.parse(new TextDecoder().decode(body));
}

function json(status: number, value: unknown): ApiResponse {
  const bytes = encoder.encode(JSON.stringify(value));
  async function* body() {
    yield bytes;
  }
  return { status, headers: { 'content-type': 'application/json' }, body: body() };
}
