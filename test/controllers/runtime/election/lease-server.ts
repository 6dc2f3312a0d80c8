import type { ApiRequest, ApiResponse } from '../../../../apiserver/client/transport.ts';
import { mergePatch } from '../../../../apiserver/patch/merge-patch.ts';
import { CoordinationLease } from '../../../../resources/kinds/coordination-lease.ts';
import { ApiError, alreadyExists, conflict, notFound } from '../../../../resources/meta/api-error.ts';
import type { JsonObject } from '../../../../resources/meta/object.ts';

type Event = { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: CoordinationLease };

const ROOT = '/apis/coordination.k8s.io/v1/namespaces/coppice-system/leases';

/** The Leases of one namespace as an API server keeps them: one counter of versions, each request done at once and whole. */
export class LeaseServer {
  readonly #leases = new Map<string, CoordinationLease>();
  readonly #events: Event[] = [];
  readonly #watchers = new Set<(event: Event) => void>();
  #version = 1;
  /** Every request that was no watch. */
  readonly requests: ApiRequest[] = [];
  /** Every write there was, as `VERB name`. */
  readonly log: string[] = [];

  get(name: string): CoordinationLease | undefined {
    return this.#leases.get(name);
  }

  list(): readonly CoordinationLease[] {
    return [...this.#leases.values()].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  }

  /** Calls `listener` for each change after a version, until the answered function is called. */
  watch(from: number, listener: (event: Event) => void): () => void {
    for (const event of this.#events) if (Number(event.object.metadata.resourceVersion) > from) listener(event);
    this.#watchers.add(listener);
    return () => this.#watchers.delete(listener);
  }

  /** Does a request that is no watch. */
  handle(request: ApiRequest): ApiResponse {
    this.requests.push(request);
    const { method, path, body } = request;
    const { pathname } = new URL(path, 'https://leases');
    const name = pathname.slice(ROOT.length + 1);
    const sent = (body === undefined ? {} : JSON.parse(new TextDecoder().decode(body))) as JsonObject;
    try {
      return answer(200, this.#do(method, name, sent));
    } catch (error) {
      if (error instanceof ApiError) return answer(error.code, error.toStatus());
      throw error;
    }
  }

  #do(method: string, name: string, sent: JsonObject): unknown {
    if (method === 'GET' && name === '')
      return { metadata: { resourceVersion: String(this.#version) }, items: this.list() };
    if (method === 'POST') return this.#create(sent as JsonObject & CoordinationLease);
    const before = this.#leases.get(name);
    if (before === undefined) throw notFound(CoordinationLease, name);
    if (method === 'GET') return before;
    const wanted = method === 'DELETE' ? sent.preconditions : sent.metadata;
    const { uid, resourceVersion } = (wanted ?? {}) as { uid?: string; resourceVersion?: string };
    if (uid !== undefined && uid !== before.metadata.uid) throw conflict(CoordinationLease, name);
    if (resourceVersion !== undefined && resourceVersion !== before.metadata.resourceVersion)
      throw conflict(CoordinationLease, name);
    return method === 'DELETE' ? this.#delete(before) : this.#patch(before, sent);
  }

  #create(object: CoordinationLease): CoordinationLease {
    const { name } = object.metadata;
    if (this.#leases.has(name)) throw alreadyExists(CoordinationLease, name);
    this.log.push(`create ${name}`);
    const version = String(++this.#version);
    const made = { ...object, metadata: { ...object.metadata, uid: `uid-${version}`, resourceVersion: version } };
    this.#leases.set(name, made);
    this.#tell({ type: 'ADDED', object: made });
    return made;
  }

  #patch(before: CoordinationLease, patch: JsonObject): CoordinationLease {
    const { name } = before.metadata;
    this.log.push(`patch ${name}`);
    const patched = mergePatch(before, patch) as CoordinationLease;
    const after = { ...patched, metadata: { ...before.metadata, resourceVersion: String(++this.#version) } };
    this.#leases.set(name, after);
    this.#tell({ type: 'MODIFIED', object: after });
    return after;
  }

  #delete(before: CoordinationLease): JsonObject {
    const { name } = before.metadata;
    this.log.push(`delete ${name}`);
    this.#leases.delete(name);
    const version = String(++this.#version);
    const object = { ...before, metadata: { ...before.metadata, resourceVersion: version } };
    this.#tell({ type: 'DELETED', object });
    return { kind: 'Status', status: 'Success' };
  }

  #tell(event: Event): void {
    this.#events.push(event);
    for (const listener of this.#watchers) listener(event);
  }
}

function answer(status: number, body: unknown): ApiResponse {
  return { status, headers: {}, body: once(new TextEncoder().encode(JSON.stringify(body))) };
}

async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}
