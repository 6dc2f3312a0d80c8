import { ApiClient, type ResourceClient } from '../../apiserver/client/client.ts';
import type { ApiRequest, ApiResponse, Transport } from '../../apiserver/client/transport.ts';
import { type Clock, rfc3339 } from '../../resources/ambient/clock.ts';
import { World } from '../../resources/guards/world.ts';
import { BUILT_IN_KINDS } from '../../resources/kinds.ts';
import { ApiError, alreadyExists, conflict, forbidden, invalid, notFound } from '../../resources/meta/api-error.ts';
import type { Kind, ResourceRef } from '../../resources/meta/define-kind.ts';
import { isObject, type JsonObject, jsonEqual, type KubeObject, objectKey } from '../../resources/meta/object.ts';
import { apiVersionOf, resourceId } from '../../resources/meta/resource-id.ts';

interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly id: string;
  readonly object: KubeObject;
  readonly revision: number;
}

interface Target {
  readonly kind: Kind;
  readonly namespace?: string;
  readonly name?: string;
  readonly sub?: string;
}

/** Steps in before a request is answered: may throw an `ApiError` or anything else a network does. */
export type Intercept = (request: ApiRequest, identity: string) => void | Promise<void>;

/**
 * A small server of the built-in kinds in memory, with their own admission, guards and companions: enough of the API for controllers to be
 * judged by what is in it afterwards. Lists page, watches follow, versions conflict, finalizers hold.
 */
export class FakeServer {
  readonly world = new World();
  readonly #clock: Clock;
  readonly #kinds: Kind[] = [...BUILT_IN_KINDS];
  readonly #objects = new Map<string, Map<string, KubeObject>>();
  readonly #changes: Change[] = [];
  readonly #watchers = new Set<() => void>();
  #revision = 0;
  #compacted = 0;
  #uids = 0;
  intercept: Intercept = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A way in as somebody. */
  transport(identity: string): Transport {
    return async (request) => {
      try {
        request.signal?.throwIfAborted();
        await this.intercept(request, identity);
        return this.#answer(request);
      } catch (error) {
        if (error instanceof ApiError) return respond(error.code, error.toStatus());
        throw error;
      }
    };
  }

  resource<T extends KubeObject>(kind: ResourceRef, namespace?: string): ResourceClient<T> {
    return new ApiClient(this.transport('operator')).resource<T>(kind, namespace);
  }

  /** What is stored under a key, for assertions. */
  find<T extends KubeObject>(kind: Kind<T>, key: string): T | undefined {
    return this.#objects.get(resourceId(kind))?.get(key) as T | undefined;
  }

  all<T extends KubeObject>(kind: Kind<T>): readonly T[] {
    return [...(this.#objects.get(resourceId(kind))?.values() ?? [])] as T[];
  }

  get revision(): number {
    return this.#revision;
  }

  /** Serves a kind more. */
  serve(kind: Kind): void {
    this.#kinds.push(kind);
  }

  /** Forgets all history: a watch from an older version is told to list again. */
  compact(): void {
    this.#compacted = this.#revision;
  }

  /** Ends every watch, as a server does that goes away. */
  dropWatches(): void {
    for (const wake of [...this.#watchers]) {
      this.#watchers.delete(wake);
      wake();
    }
  }

  #answer(request: ApiRequest): ApiResponse {
    const url = new URL(request.path, 'http://fake');
    const documents = this.#document(url.pathname);
    if (documents !== undefined) return respond(200, documents);
    const target = this.#target(url.pathname);
    const body = request.body === undefined ? {} : (JSON.parse(new TextDecoder().decode(request.body)) as JsonObject);
    switch (request.method) {
      case 'GET':
        if (target.name !== undefined) return respond(200, this.#get(target));
        return url.searchParams.get('watch') === 'true'
          ? this.#watch(target, url, request.signal)
          : respond(200, this.#list(target, url));
      case 'POST':
        return respond(201, this.#create(target, body as KubeObject));
      case 'PUT':
        return respond(
          200,
          this.#update(target, () => body as KubeObject),
        );
      case 'PATCH':
        return respond(
          200,
          this.#update(target, (before) => merged(before, body) as KubeObject),
        );
      default:
        return respond(200, this.#delete(target, body));
    }
  }

  #document(path: string): unknown {
    if (path === '/apis') {
      const groups = [...new Set(this.#kinds.filter((k) => k.group !== '').map((k) => k.group))];
      return {
        groups: groups.map((name) => ({ name, versions: [{ version: 'v1' }], preferredVersion: { version: 'v1' } })),
      };
    }
    const kinds = this.#kinds.filter((k) => path === (k.group === '' ? '/api/v1' : `/apis/${apiVersionOf(k)}`));
    if (kinds.length === 0) return undefined;
    const verbs = ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'];
    return {
      resources: kinds.flatMap((k) => [
        { name: k.plural, kind: k.kind, namespaced: k.namespaced, verbs },
        ...(k.status
          ? [{ name: `${k.plural}/status`, kind: k.kind, namespaced: k.namespaced, verbs: ['get', 'patch', 'update'] }]
          : []),
      ]),
    };
  }

  #target(path: string): Target {
    const parts = path
      .split('/')
      .filter((part) => part !== '')
      .map(decodeURIComponent);
    const group = parts[0] === 'api' ? '' : (parts[1] ?? '');
    const rest = parts.slice(parts[0] === 'api' ? 2 : 3);
    const inNamespace =
      rest[0] === 'namespaces' && this.#kinds.some((k) => k.group === group && k.plural === rest[2] && k.namespaced);
    const [plural, name, sub] = inNamespace ? rest.slice(2) : rest;
    const kind = this.#kinds.find((k) => k.group === group && k.plural === plural);
    if (kind === undefined) throw new ApiError('NotFound', 'the server could not find the requested resource');
    return {
      kind,
      ...(inNamespace && rest[1] !== undefined ? { namespace: rest[1] } : {}),
      ...(name === undefined ? {} : { name }),
      ...(sub === undefined ? {} : { sub }),
    };
  }

  #get({ kind, namespace, name }: Target): KubeObject {
    const found = this.find(kind, objectKey({ name: name ?? '', namespace }));
    if (found === undefined) throw notFound(kind, name ?? '');
    return found;
  }

  #list(target: Target, url: URL): unknown {
    const limit = Number(url.searchParams.get('limit') ?? '0') || Number.POSITIVE_INFINITY;
    const token = url.searchParams.get('continue');
    const [asOf, from] = token === null ? [this.#revision, 0] : token.split(':').map(Number);
    if ((asOf ?? 0) < this.#compacted) throw new ApiError('Expired', 'the continue token is too old');
    const objects = this.all(target.kind).filter((object) => selected(target, url, object));
    const items = objects.slice(from, (from ?? 0) + limit);
    const next = (from ?? 0) + items.length;
    const more = next < objects.length ? { continue: `${asOf}:${next}` } : {};
    return { kind: target.kind.listKind, metadata: { resourceVersion: String(asOf), ...more }, items };
  }

  #watch(target: Target, url: URL, signal: AbortSignal | undefined): ApiResponse {
    const from = Number(url.searchParams.get('resourceVersion') ?? '0');
    if (from < this.#compacted) throw new ApiError('Expired', `too old resource version: ${from} (${this.#compacted})`);
    return { status: 200, headers: {}, body: this.#follow(target, url, from, signal) };
  }

  async *#follow(target: Target, url: URL, from: number, signal: AbortSignal | undefined): AsyncIterable<Uint8Array> {
    let next = this.#changes.findIndex((change) => change.revision > from);
    if (next < 0) next = this.#changes.length;
    for (;;) {
      for (; next < this.#changes.length; next++) {
        const change = this.#changes[next];
        if (change === undefined || change.id !== resourceId(target.kind) || !selected(target, url, change.object))
          continue;
        yield encode(`${JSON.stringify({ type: change.type, object: change.object })}\n`);
      }
      const waked = Promise.withResolvers<boolean>();
      const wake = () => waked.resolve(this.#watchers.has(wake));
      const abort = () => waked.reject(signal?.reason);
      this.#watchers.add(wake);
      signal?.addEventListener('abort', abort, { once: true });
      try {
        signal?.throwIfAborted();
        if (!(await waked.promise)) return;
      } finally {
        this.#watchers.delete(wake);
        signal?.removeEventListener('abort', abort);
      }
    }
  }

  #create({ kind, namespace }: Target, draft: KubeObject): KubeObject {
    const name = draft.metadata.name;
    if (this.find(kind, objectKey({ name, namespace })) !== undefined) throw alreadyExists(kind, name);
    this.#uids += 1;
    const object: KubeObject = {
      ...withDefaults(kind, draft),
      apiVersion: apiVersionOf(kind),
      kind: kind.kind,
      metadata: {
        ...draft.metadata,
        ...(namespace === undefined ? {} : { namespace }),
        uid: `uid-${this.#uids}`,
        resourceVersion: '',
        generation: 1,
        creationTimestamp: rfc3339(this.#clock.now()),
      },
    };
    if (kind.status && kind.origin === 'coppice') delete object.status;
    return this.#commit(kind, undefined, object);
  }

  #update(target: Target, change: (before: KubeObject) => KubeObject): KubeObject {
    const { kind, sub } = target;
    const before = this.#get(target);
    const wanted = change(before);
    const version = wanted.metadata.resourceVersion;
    if (version !== undefined && version !== '' && version !== before.metadata.resourceVersion) {
      throw conflict(kind, before.metadata.name);
    }
    const part = sub === 'status' ? ['status'] : sub === 'finalize' ? ['spec'] : undefined;
    const taken: KubeObject =
      part === undefined ? { ...wanted, ...(kind.status ? { status: before.status } : {}) } : { ...before };
    for (const field of part ?? []) taken[field] = wanted[field];
    const { uid, creationTimestamp, deletionTimestamp } = before.metadata;
    const kept = { uid, creationTimestamp, ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }) };
    const generation = (before.metadata.generation ?? 1) + (jsonEqual(before.spec, taken.spec) ? 0 : 1);
    taken.metadata = { ...taken.metadata, ...kept, generation };
    return this.#commit(kind, before, taken, sub);
  }

  #delete(target: Target, body: JsonObject): KubeObject {
    const before = this.#get(target);
    const wanted = isObject(body.preconditions) ? body.preconditions : {};
    for (const field of ['uid', 'resourceVersion'] as const) {
      if (wanted[field] !== undefined && wanted[field] !== before.metadata[field])
        throw conflict(target.kind, before.metadata.name);
    }
    if (before.metadata.deletionTimestamp !== undefined) return before;
    const marked = { ...before, metadata: { ...before.metadata, deletionTimestamp: rfc3339(this.#clock.now()) } };
    return this.#commit(target.kind, before, marked);
  }

  /** Admission, guards and companions of the kind, then the write: removed when it is being deleted and nothing holds it. */
  #commit(kind: Kind, before: KubeObject | undefined, draft: KubeObject, sub?: string): KubeObject {
    const context = { world: this.world, nowMs: this.#clock.now() };
    const admitted = kind.rules.admit === undefined ? draft : kind.rules.admit(draft, before, context);
    const held = (admitted.metadata.finalizers ?? []).length > 0 || kind.rules.holdsDeletion?.(admitted) === true;
    const after = admitted.metadata.deletionTimestamp !== undefined && !held ? undefined : admitted;
    for (const guard of kind.rules.guards ?? []) {
      const refusal = guard.judge({ before, after, ...(sub === undefined ? {} : { subresource: sub }) }, this.world);
      if (refusal === undefined) continue;
      const name = draft.metadata.name;
      const cause = { reason: refusal.cause, message: refusal.message };
      if (refusal.answer === 'Forbidden') throw forbidden(kind, name, refusal.message, { ...cause, message: '' });
      throw invalid(kind, name, [{ ...cause, field: refusal.field }]);
    }
    for (const { resource, name, namespace, object } of kind.rules.companions?.(after, before, context) ?? []) {
      const companion = this.#kinds.find((k) => resourceId(k) === resourceId(resource));
      if (companion !== undefined) this.#put(companion, objectKey({ name, namespace }), object);
    }
    if (before !== undefined && after !== undefined && jsonEqual(before, after)) return before;
    return this.#put(kind, objectKey(admitted.metadata), after) ?? admitted;
  }

  #put(kind: Kind, key: string, object: KubeObject | undefined): KubeObject | undefined {
    const id = resourceId(kind);
    const objects = this.#objects.get(id) ?? new Map<string, KubeObject>();
    this.#objects.set(id, objects);
    const before = objects.get(key);
    this.#revision += 1;
    const resourceVersion = String(this.#revision);
    const stored = object && { ...object, metadata: { ...object.metadata, resourceVersion } };
    if (stored === undefined) objects.delete(key);
    else objects.set(key, stored);
    this.world.set(kind, key, stored, this.#revision);
    const told = stored ?? (before && { ...before, metadata: { ...before.metadata, resourceVersion } });
    if (told !== undefined) {
      const type = stored === undefined ? 'DELETED' : before === undefined ? 'ADDED' : 'MODIFIED';
      this.#changes.push({ type, id, object: told, revision: this.#revision });
    }
    for (const wake of this.#watchers) wake();
    return stored;
  }
}

function selected({ namespace }: Target, url: URL, object: KubeObject): boolean {
  if (namespace !== undefined && object.metadata.namespace !== namespace) return false;
  const selector = url.searchParams.get('labelSelector');
  return (selector ?? '').split(',').every((term) => {
    const [key = '', value] = term.split('=');
    return term === '' || object.metadata.labels?.[key] === value;
  });
}

/** Defaults of the first two levels: enough for the kinds there are. */
function withDefaults(kind: Kind, draft: KubeObject): KubeObject {
  const spec = kind.schema.properties?.spec;
  if (kind.origin !== 'coppice' || spec?.properties === undefined) return draft;
  const filled: JsonObject = { ...(isObject(draft.spec) ? draft.spec : {}) };
  for (const [name, field] of Object.entries(spec.properties)) {
    if (filled[name] === undefined && field.default !== undefined) filled[name] = field.default;
  }
  return { ...draft, spec: filled };
}

/** RFC 7386. */
function merged(before: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const out: JsonObject = isObject(before) ? { ...before } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete out[name];
    else out[name] = merged(out[name], value);
  }
  return out;
}

function respond(status: number, body: unknown): ApiResponse {
  return { status, headers: {}, body: once(encode(JSON.stringify(body))) };
}

async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}

const encode = (text: string) => new TextEncoder().encode(text);
