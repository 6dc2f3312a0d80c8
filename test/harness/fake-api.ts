import type { IncomingMessage } from 'node:http';
import { createServer as createHttp2Server, type Http2ServerRequest } from 'node:http2';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { type WebSocket, WebSocketServer } from 'ws';
import { H2_PROTOCOL } from '../../apiserver/client/h2-protocol.ts';
import { ApiError, alreadyExists, notFound } from '../../resources/meta/api-error.ts';
import type { ResourceRef } from '../../resources/meta/define-kind.ts';
import { isObject, type JsonObject, type KubeObject } from '../../resources/meta/object.ts';
import { CHANNEL_PROTOCOL } from '../../resources/streams/channel-frames.ts';
import { type TestCertificate, testCertificate } from './test-authority.ts';

interface FakeResource extends ResourceRef {
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories?: readonly string[];
}

const plain = (plural: string, kind: string, namespaced: boolean, shortNames: string[], group = ''): FakeResource => ({
  group,
  version: 'v1',
  plural,
  kind,
  namespaced,
  singular: kind.toLowerCase(),
  shortNames,
  categories: group === 'coppice.dev' ? ['coppice'] : [],
});

const FAKE_RESOURCES: readonly FakeResource[] = [
  plain('namespaces', 'Namespace', false, ['ns']),
  plain('events', 'Event', true, ['ev']),
  plain('configmaps', 'ConfigMap', true, ['cm']),
  plain('tenants', 'Tenant', false, ['tn'], 'coppice.dev'),
  plain('hosts', 'Host', false, ['mac'], 'coppice.dev'),
  plain('images', 'Image', false, ['img'], 'coppice.dev'),
  plain('policies', 'Policy', false, [], 'coppice.dev'),
  plain('vms', 'VM', true, ['vm'], 'coppice.dev'),
  plain('leases', 'Lease', true, ['ls'], 'coppice.dev'),
  plain('volumes', 'Volume', true, ['vol'], 'coppice.dev'),
  plain('leases', 'Lease', true, [], 'coordination.k8s.io'),
];

type Asked = IncomingMessage | Http2ServerRequest;

/** What is used of an answer, over HTTP/1.1 and HTTP/2. */
interface Answer {
  readonly headersSent: boolean;
  hasHeader(name: string): boolean;
  setHeader(name: string, value: string): unknown;
  writeHead(status: number, headers?: Readonly<Record<string, string>>): Answer;
  flushHeaders?(): void;
  write(text: string): boolean;
  end(text: string): unknown;
  destroy(): unknown;
  on(event: 'close', listener: () => void): unknown;
}

/** One request the fake was sent. */
interface Recorded {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

interface Located {
  readonly resource: FakeResource;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

/** The token it takes. */
export const TOKEN = 'sesame';

/**
 * An API server as far as clients can tell one: discovery, objects in memory, tables, watches by name, merge patch. It validates nothing
 * and runs nothing; it stands in where a test is about the client and wants to script the other side.
 */
export class FakeApi implements AsyncDisposable {
  readonly requests: Recorded[] = [];
  readonly certificate: TestCertificate;
  /** Answers requests before the fake does; undefined leaves it to the fake. */
  intercept: (request: Recorded) => { status: number; body: string | object } | undefined = () => undefined;
  /** Takes over `exec` streams. */
  onExec: (socket: WebSocket, url: URL) => void = (socket) => socket.close();
  /** What `logs` answers. */
  logs = '';
  readonly #server: Server;
  readonly #sockets = new WebSocketServer({ noServer: true, handleProtocols: () => CHANNEL_PROTOCOL });
  /** Connections that speak HTTP/2. */
  readonly #multiplexed = new Set<TLSSocket>();
  readonly #objects = new Map<string, KubeObject>();
  readonly #watchers = new Set<(type: string, object: KubeObject, resource: FakeResource) => void>();
  #revision = 1;

  private constructor(certificate: TestCertificate, multiplexed: boolean) {
    this.certificate = certificate;
    const { cert, key } = certificate;
    const protocols = multiplexed ? { ALPNProtocols: [H2_PROTOCOL, 'http/1.1'] } : {};
    const answering = (request: Asked, response: Answer) => {
      this.#serve(request, response).catch((error: unknown) => answerError(response, error));
    };
    this.#server = createServer({ cert, key, ...protocols }, answering);
    if (multiplexed) this.#multiplex(answering);
    this.#server.on('upgrade', (request, socket, head) => {
      const recorded = this.#record(request, '');
      const refused = this.intercept(recorded);
      if (refused !== undefined) {
        const body = typeof refused.body === 'string' ? refused.body : JSON.stringify(refused.body);
        socket.end(
          `HTTP/1.1 ${refused.status} No\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
        );
        return;
      }
      this.#sockets.handleUpgrade(request, socket, head, (client) => this.onExec(client, urlOf(recorded.url)));
    });
  }

  /** `multiplexed`: agrees to HTTP/2 with clients of ours. */
  static async start(multiplexed = false): Promise<FakeApi> {
    const fake = new FakeApi(await testCertificate(), multiplexed);
    await new Promise<void>((resolve) => fake.#server.listen(0, '127.0.0.1', resolve));
    return fake;
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** A kubeconfig for it, in the JSON that is also YAML. */
  kubeconfig(namespace = 'demo'): string {
    return JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'fake',
      clusters: [
        {
          name: 'c',
          cluster: {
            server: this.url,
            'certificate-authority-data': Buffer.from(this.certificate.ca).toString('base64'),
          },
        },
      ],
      users: [{ name: 'u', user: { token: TOKEN } }],
      contexts: [{ name: 'fake', context: { cluster: 'c', user: 'u', namespace } }],
    });
  }

  /** Puts an object as somebody else would, and tells watches. */
  put(
    plural: string,
    object: JsonObject & { metadata: JsonObject & { name: string; namespace?: string } },
  ): KubeObject {
    const resource = FAKE_RESOURCES.find((r) => r.plural === plural);
    if (resource === undefined) throw new Error(`no fake resource ${plural}`);
    return this.#store(resource, object.metadata.namespace, object.metadata.name, object);
  }

  get(plural: string, name: string, namespace?: string): KubeObject | undefined {
    const resource = FAKE_RESOURCES.find((r) => r.plural === plural);
    return resource && this.#objects.get(keyOf(resource, namespace, name));
  }

  remove(plural: string, name: string, namespace?: string): void {
    const resource = FAKE_RESOURCES.find((r) => r.plural === plural);
    if (resource !== undefined) this.#delete(resource, namespace, name);
  }

  /** How many connections there are that speak HTTP/2. */
  get multiplexed(): number {
    return this.#multiplexed.size;
  }

  #multiplex(answering: (request: Asked, response: Answer) => void): void {
    const [own] = this.#server.listeners('secureConnection');
    this.#server.removeAllListeners('secureConnection');
    const http2 = createHttp2Server(answering);
    this.#server.on('secureConnection', (socket: TLSSocket) => {
      if (socket.alpnProtocol !== H2_PROTOCOL) return own?.call(this.#server, socket);
      this.#multiplexed.add(socket);
      socket.once('close', () => this.#multiplexed.delete(socket));
      http2.emit('connection', socket);
    });
  }

  /** Breaks off whatever is being answered. */
  dropConnections(): void {
    for (const socket of this.#multiplexed) socket.destroy();
    this.#server.closeAllConnections();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#sockets.clients) client.terminate();
    this.dropConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: Asked, response: Answer): Promise<void> {
    let body = '';
    for await (const piece of request.setEncoding('utf8')) body += piece;
    const recorded = this.#record(request, body);
    const own = this.intercept(recorded);
    if (own !== undefined) return answer(response, own.status, own.body);
    if (request.headers.authorization !== `Bearer ${TOKEN}`) throw new ApiError('Unauthorized', 'Unauthorized');
    const url = urlOf(recorded.url);
    if (url.pathname === '/version') return answer(response, 200, { gitVersion: 'v1.32.5+fake' });
    if (url.pathname === '/api' || url.pathname === '/apis') return answerDiscovery(response, url.pathname);
    const located = locate(url.pathname);
    if (located === undefined) return answer(response, 404, '404 page not found');
    if (located.subresource === 'logs') return answer(response, 200, this.logs);
    if (url.searchParams.get('watch') === 'true') return this.#watch(located, url, request, response);
    answer(response, request.method === 'POST' ? 201 : 200, this.#act(located, recorded, url));
  }

  #record(request: Asked, body: string): Recorded {
    const recorded = { method: request.method ?? '', url: request.url ?? '', headers: request.headers, body };
    this.requests.push(recorded);
    return recorded;
  }

  #act(at: Located, request: Recorded, url: URL): unknown {
    const { resource, namespace, name } = at;
    const table = request.headers.accept?.includes('as=Table') === true;
    if (name === undefined) {
      if (request.method === 'POST') return this.#create(at, JSON.parse(request.body));
      const items = this.#list(resource, namespace, url);
      const metadata = { resourceVersion: String(this.#revision) };
      if (table) return tableOf(items, metadata);
      return { kind: `${resource.kind}List`, apiVersion: apiVersionOf(resource), metadata, items };
    }
    const object = this.#objects.get(keyOf(resource, namespace, name));
    if (object === undefined) throw notFound(resource, name);
    if (request.method === 'PATCH')
      return this.#store(resource, namespace, name, merge(object, JSON.parse(request.body)));
    if (request.method !== 'DELETE') return table ? tableOf([object], {}) : object;
    if ((object.metadata.finalizers ?? []).length > 0)
      return this.#store(
        resource,
        namespace,
        name,
        merge(object, { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }),
      );
    this.#delete(resource, namespace, name);
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      details: { name, uid: object.metadata.uid },
    };
  }

  #create(at: Located, body: JsonObject & { metadata: { name: string } }): KubeObject {
    const { name } = body.metadata;
    if (this.#objects.has(keyOf(at.resource, at.namespace, name))) throw alreadyExists(at.resource, name);
    return this.#store(at.resource, at.namespace, name, body);
  }

  #list(resource: FakeResource, namespace: string | undefined, url: URL): KubeObject[] {
    const name = /metadata\.name=([^,]+)/.exec(url.searchParams.get('fieldSelector') ?? '')?.[1];
    const involved = /involvedObject\.name=([^,]+)/.exec(url.searchParams.get('fieldSelector') ?? '')?.[1];
    const [label, value] = (url.searchParams.get('labelSelector') ?? '').split('=');
    return [...this.#objects]
      .filter(([key]) => key.startsWith(`${resource.group}/${resource.plural}/`))
      .map(([, object]) => object)
      .filter((object) => namespace === undefined || object.metadata.namespace === namespace)
      .filter((object) => name === undefined || object.metadata.name === name)
      .filter(
        (object) =>
          involved === undefined || (isObject(object.involvedObject) && object.involvedObject.name === involved),
      )
      .filter((object) => !label || object.metadata.labels?.[label] === value);
  }

  #store(resource: FakeResource, namespace: string | undefined, name: string, object: JsonObject): KubeObject {
    const key = keyOf(resource, namespace, name);
    const before = this.#objects.get(key);
    const metadata = isObject(object.metadata) ? object.metadata : {};
    const stored: KubeObject = {
      ...object,
      apiVersion: apiVersionOf(resource),
      kind: resource.kind,
      metadata: {
        creationTimestamp: '2026-01-01T00:00:00Z',
        uid: `uid-${this.#revision}`,
        generation: 1,
        ...before?.metadata,
        ...metadata,
        name,
        resourceVersion: String(++this.#revision),
        ...(namespace === undefined ? {} : { namespace }),
      },
    };
    this.#objects.set(key, stored);
    for (const tell of this.#watchers) tell(before === undefined ? 'ADDED' : 'MODIFIED', stored, resource);
    return stored;
  }

  #delete(resource: FakeResource, namespace: string | undefined, name: string): void {
    const key = keyOf(resource, namespace, name);
    const object = this.#objects.get(key);
    this.#objects.delete(key);
    this.#revision++;
    if (object !== undefined) for (const tell of this.#watchers) tell('DELETED', object, resource);
  }

  #watch(at: Located, url: URL, request: Asked, response: Answer): void {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders?.();
    const table = request.headers.accept?.includes('as=Table') === true;
    const after = Number(url.searchParams.get('resourceVersion') ?? 0);
    const tell = (type: string, object: KubeObject, resource: FakeResource) => {
      if (resource !== at.resource || !this.#selects(at, url, object)) return;
      response.write(`${JSON.stringify({ type, object: table ? tableOf([object], {}) : object })}\n`);
    };
    for (const object of this.#list(at.resource, at.namespace, url))
      if (Number(object.metadata.resourceVersion) > after) tell('ADDED', object, at.resource);
    this.#watchers.add(tell);
    response.on('close', () => this.#watchers.delete(tell));
  }

  #selects(at: Located, url: URL, object: KubeObject): boolean {
    const name = /metadata\.name=([^,]+)/.exec(url.searchParams.get('fieldSelector') ?? '')?.[1];
    if (name !== undefined && object.metadata.name !== name) return false;
    return at.namespace === undefined || object.metadata.namespace === at.namespace;
  }
}

const urlOf = (path: string) => new URL(path, 'https://fake');
const apiVersionOf = (r: ResourceRef) => (r.group === '' ? r.version : `${r.group}/${r.version}`);
const keyOf = (r: ResourceRef, namespace: string | undefined, name: string) =>
  `${r.group}/${r.plural}/${r.namespaced ? (namespace ?? '') : ''}/${name}`;

function locate(path: string): Located | undefined {
  const match =
    /^\/(?:api\/v1|apis\/([^/]+)\/v1)(?:\/namespaces\/([^/]+)(?=\/))?\/([^/]+)(?:\/([^/]+))?(?:\/([^/]+))?$/.exec(path);
  const [, group = '', namespace, plural, name, subresource] = match ?? [];
  const resource = FAKE_RESOURCES.find((r) => r.group === group && r.plural === plural);
  return resource && { resource, namespace, name, subresource };
}

function answerDiscovery(response: Answer, path: string): void {
  const groups = [...new Set(FAKE_RESOURCES.map((r) => r.group))].filter(
    (group) => (group === '') === (path === '/api'),
  );
  const items = groups.map((group) => ({
    metadata: { name: group },
    versions: [{ version: 'v1', resources: FAKE_RESOURCES.filter((r) => r.group === group).map(discovered) }],
  }));
  const type = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
  response.setHeader('content-type', type);
  answer(response, 200, { kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2', metadata: {}, items });
}

const discovered = (r: FakeResource) => ({
  resource: r.plural,
  responseKind: { group: r.group, version: r.version, kind: r.kind },
  scope: r.namespaced ? 'Namespaced' : 'Cluster',
  singularResource: r.singular,
  shortNames: r.shortNames,
  categories: r.categories ?? [],
  verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
});

/** A name, a phase and, when wide, a host. */
function tableOf(items: readonly KubeObject[], metadata: object): object {
  const status = (object: KubeObject) => (isObject(object.status) ? object.status : {});
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata,
    columnDefinitions: [
      { name: 'Name', type: 'string', format: 'name', priority: 0 },
      { name: 'Phase', type: 'string', priority: 0 },
      { name: 'Host', type: 'string', priority: 1 },
      { name: 'Age', type: 'date', priority: 0 },
    ],
    rows: items.map((object) => ({
      cells: [object.metadata.name, status(object).phase ?? null, status(object).host ?? null, '5m'],
      object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata },
    })),
  };
}

function merge(target: unknown, patch: unknown): JsonObject {
  const out: JsonObject = isObject(target) ? { ...target } : {};
  if (!isObject(patch)) return out;
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) delete out[field];
    else out[field] = isObject(value) ? merge(out[field], value) : value;
  }
  return out;
}

function answer(response: Answer, status: number, body: unknown): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  if (!response.hasHeader('content-type'))
    response.setHeader('content-type', typeof body === 'string' ? 'text/plain' : 'application/json');
  response.writeHead(status).end(text);
}

function answerError(response: Answer, error: unknown): void {
  const known = error instanceof ApiError ? error : new ApiError('InternalError', String(error));
  if (response.headersSent) response.destroy();
  else answer(response, known.code, known.toStatus());
}
