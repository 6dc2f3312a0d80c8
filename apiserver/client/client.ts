import { ApiError, type Status } from '../../resources/meta/api-error.ts';
import type { ResourceRef } from '../../resources/meta/define-kind.ts';
import { isObject, type KubeObject } from '../../resources/meta/object.ts';
import { apiVersionOf } from '../../resources/meta/resource-id.ts';
import type { ApiRequest, ApiResponse, Transport } from './transport.ts';
import { type WatchEvent, watchEvents } from './watch.ts';

export interface ListOptions {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly limit?: number;
  readonly continue?: string;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: 'Exact' | 'NotOlderThan';
}

interface WatchOptions {
  readonly resourceVersion?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly allowWatchBookmarks?: boolean;
  readonly timeoutSeconds?: number;
}

export interface WriteOptions {
  readonly fieldManager?: string;
  /** Of an apply: takes fields from other managers. */
  readonly force?: boolean;
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore';
  readonly dryRun?: boolean;
  /** Told each `Warning` the server sent along. */
  readonly onWarning?: (text: string) => void;
}

interface DeleteOptions {
  /** Told each `Warning` the server sent along. */
  readonly onWarning?: (text: string) => void;
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly dryRun?: boolean;
}

interface ObjectList<T> {
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items: readonly T[];
}

type PatchType =
  | 'application/merge-patch+json'
  | 'application/json-patch+json'
  | 'application/strategic-merge-patch+json'
  | 'application/apply-patch+yaml';

const encoder = new TextEncoder();

/** A typed client over any transport. Every call takes a signal; failures of the server are `ApiError`. */
export class ApiClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The objects of one resource. For a namespaced resource, `namespace` undefined means all of them (reads only). */
  resource<T extends KubeObject>(ref: ResourceRef, namespace?: string): ResourceClient<T> {
    return new ResourceClient<T>(this, ref, namespace);
  }

  /** A request as it is: answers any status. */
  send(request: ApiRequest): Promise<ApiResponse> {
    return this.#transport(request);
  }

  /** A request whose answer is JSON. Throws `ApiError` for a status of 400 and above. */
  async json(request: ApiRequest, onWarning?: (text: string) => void): Promise<unknown> {
    const response = await this.#transport(request);
    for (const warning of warningsOf(response)) onWarning?.(warning);
    const text = await bodyText(response);
    if (response.status >= 400) throw errorOf(response.status, text);
    return JSON.parse(text);
  }

  /** A streamed answer. Throws `ApiError` for a status of 400 and above. */
  async stream(request: ApiRequest): Promise<AsyncIterable<Uint8Array>> {
    const response = await this.#transport(request);
    if (response.status >= 400) throw errorOf(response.status, await bodyText(response));
    return response.body;
  }
}

/** Verbs on one resource. */
export class ResourceClient<T extends KubeObject> {
  readonly #client: ApiClient;
  readonly #base: string;
  readonly ref: ResourceRef;

  constructor(client: ApiClient, ref: ResourceRef, namespace: string | undefined) {
    this.#client = client;
    this.ref = ref;
    const root = ref.group === '' ? `/api/${ref.version}` : `/apis/${apiVersionOf(ref)}`;
    const scope = ref.namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : '';
    this.#base = `${root}${scope}/${ref.plural}`;
  }

  /** The path of the collection, of an object, or of a subresource. */
  path(name?: string, subresource?: string): string {
    const object = name === undefined ? this.#base : `${this.#base}/${encodeURIComponent(name)}`;
    return subresource === undefined ? object : `${object}/${subresource}`;
  }

  async get(name: string, signal?: AbortSignal): Promise<T> {
    return (await this.#client.json(request('GET', this.path(name), signal))) as T;
  }

  async list(options: ListOptions = {}, signal?: AbortSignal): Promise<ObjectList<T>> {
    const path = this.path() + query({ ...options });
    const list = (await this.#client.json(request('GET', path, signal))) as ObjectList<T>;
    // Lists of Kubernetes' own kinds leave it to the reader to know what their items are.
    const type = { apiVersion: apiVersionOf(this.ref), kind: this.ref.kind };
    return { ...list, items: list.items.map((item) => (item.kind === undefined ? { ...type, ...item } : item)) };
  }

  async create(object: NewObject<T>, options: WriteOptions = {}, signal?: AbortSignal): Promise<T> {
    return this.#write('POST', this.path(), object, options, 'application/json', signal);
  }

  async update(object: T, options: WriteOptions = {}, signal?: AbortSignal): Promise<T> {
    return this.#write('PUT', this.path(object.metadata.name), object, options, 'application/json', signal);
  }

  /** A patch of the object, or of a subresource of it. */
  async patch(
    name: string,
    patch: unknown,
    options: WriteOptions & { readonly type?: PatchType; readonly subresource?: string } = {},
    signal?: AbortSignal,
  ): Promise<T> {
    const type = options.type ?? 'application/merge-patch+json';
    return this.#write('PATCH', this.path(name, options.subresource), patch, options, type, signal);
  }

  /** Answers the object when it stays for its finalizers, else the Status of its removal. */
  async delete(name: string, options: DeleteOptions = {}, signal?: AbortSignal): Promise<T | Status> {
    const { dryRun, onWarning, ...rest } = options;
    const body = { kind: 'DeleteOptions', apiVersion: 'v1', ...rest, ...(dryRun ? { dryRun: ['All'] } : {}) };
    const asked = {
      ...request('DELETE', this.path(name), signal),
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: encoder.encode(JSON.stringify(body)),
    };
    return (await this.#client.json(asked, onWarning)) as T | Status;
  }

  /** Events after `resourceVersion`, until the server ends the stream or the signal aborts. An ERROR event throws as `ApiError`. */
  async watch(options: WatchOptions, signal: AbortSignal): Promise<AsyncIterable<WatchEvent<T>>> {
    const path = this.path() + query({ ...options, watch: true });
    return watchEvents<T>(await this.#client.stream(request('GET', path, signal)));
  }

  async #write(
    method: string,
    path: string,
    body: unknown,
    options: WriteOptions,
    type: string,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const { fieldManager, fieldValidation, dryRun, force } = options;
    const asked = { fieldManager, fieldValidation, dryRun: dryRun ? 'All' : undefined, force };
    const answer = await this.#client.json(
      {
        ...request(method, path + query(asked), signal),
        headers: { 'content-type': type, accept: 'application/json' },
        body: encoder.encode(JSON.stringify(body)),
      },
      options.onWarning,
    );
    return answer as T;
  }
}

/** An object as a client makes it: the server fills in the rest of its metadata. */
export type NewObject<T extends KubeObject> = Omit<T, 'metadata' | 'status'> & {
  metadata: Partial<T['metadata']>;
  status?: T['status'];
};

function request(method: string, path: string, signal: AbortSignal | undefined): ApiRequest {
  return { method, path, headers: { accept: 'application/json' }, ...(signal === undefined ? {} : { signal }) };
}

function query(options: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  if (given.length === 0) return '';
  return `?${given.map(([key, value]) => `${key}=${encodeURIComponent(String(value))}`).join('&')}`;
}

/** The whole body as text. */
export async function bodyText(response: ApiResponse): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const piece of response.body) text += decoder.decode(piece, { stream: true });
  return text + decoder.decode();
}

/** What a failed response says: its Status, or its text where it is none. */
export function errorOf(status: number, text: string): ApiError {
  try {
    const parsed: unknown = JSON.parse(text);
    if (isObject(parsed) && parsed.kind === 'Status') return ApiError.fromStatus(parsed as Partial<Status>, status);
  } catch {
    // Not JSON: the text itself is the message.
  }
  return ApiError.fromStatus({ message: text.trim() === '' ? `the server answered ${status}` : text.trim() }, status);
}

function warningsOf(response: ApiResponse): string[] {
  const raw = response.headers.warning;
  if (raw === undefined) return [];
  const lines = typeof raw === 'string' ? [raw] : raw;
  return lines.map((line) => /^299 [^ ]+ "((?:[^"\\]|\\.)*)"/.exec(line)?.[1]?.replace(/\\(.)/g, '$1') ?? line);
}
