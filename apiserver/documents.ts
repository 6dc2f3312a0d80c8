import { ApiError } from '../resources/meta/api-error.ts';
import { encodeJson } from '../resources/meta/json.ts';
import {
  AGGREGATED_CONTENT_TYPE,
  type AggregatedVersion,
  aggregatedCore,
  aggregatedGroups,
} from './discovery/aggregated.ts';
import { contentHash, etagOf, matchesEtag } from './discovery/content-hash.ts';
import { apiGroup, apiGroupList, apiResourceList, apiVersions } from './discovery/legacy.ts';
import { issuerConfiguration, type TokenIssuer } from './discovery/token-issuer.ts';
import type { ServerVersion } from './discovery/version.ts';
import { type HealthCheck, health } from './health.ts';
import { type EncodedDocument, OpenAPIDocuments } from './openapi/openapi-documents.ts';
import { V2_CONTENT_TYPE, v2Form } from './openapi/v2.ts';
import { openAPIIndex } from './openapi/v3.ts';
import type { Registry } from './registry/registry.ts';
import { negotiate } from './requests/media-type.ts';
import { json, text } from './requests/respond.ts';
import type { ServerRequest, ServerResponse } from './requests/server-request.ts';

const encoder = new TextEncoder();
/** Of a document whose address holds its hash. */
const FOREVER = { 'cache-control': 'public, immutable', expires: 'Fri, 31 Dec 2100 00:00:00 GMT' };

/** What a server says about itself: discovery, OpenAPI, version, health. Made anew when its kinds change. */
export class Documents {
  readonly #registry: Registry;
  readonly #version: ServerVersion;
  readonly #openAPI: OpenAPIDocuments;
  readonly #checks: Readonly<Record<string, readonly HealthCheck[]>>;
  readonly #issuer: TokenIssuer;

  /** `ready` answers why the server is not ready, or undefined when it is; `shortage` what is to be said of its store’s room. */
  constructor(
    registry: Registry,
    version: ServerVersion,
    ready: () => string | undefined,
    shortage: () => string | undefined,
    issuer: TokenIssuer,
  ) {
    this.#registry = registry;
    this.#version = version;
    this.#openAPI = new OpenAPIDocuments(registry);
    const ping: HealthCheck = { name: 'ping', failure: () => undefined };
    const room: HealthCheck = { name: 'store-room', failure: () => undefined, warning: shortage };
    this.#checks = { healthz: [ping], livez: [ping], readyz: [ping, { name: 'store', failure: ready }, room] };
    this.#issuer = issuer;
  }

  /** The document at a path, or undefined when there is none. Only GET reads documents. */
  answer(request: ServerRequest, segments: readonly string[]): ServerResponse | undefined {
    const [root, second, third, ...rest] = segments;
    switch (root) {
      case undefined:
        return json(200, { paths: this.#paths() });
      case 'version':
        return segments.length === 1 ? json(200, this.#version) : undefined;
      case 'healthz':
      case 'livez':
      case 'readyz':
        return third === undefined ? health(root, this.#checks[root] ?? [], second, request.query) : undefined;
      case 'openapi':
        if (second === 'v2' && third === undefined) return this.#openAPIv2(request);
        return second === 'v3' ? this.#openAPIv3(request, third === undefined ? [] : [third, ...rest]) : undefined;
      case '.well-known':
        if (segments.join('/') !== '.well-known/openid-configuration') return undefined;
        return forAnHour(json(200, issuerConfiguration(this.#issuer, request.headers.host ?? 'localhost')));
      case 'openid':
        if (segments.join('/') !== 'openid/v1/jwks') return undefined;
        return forAnHour(json(200, this.#issuer.keySet(), { 'content-type': 'application/jwk-set+json' }));
      case 'api':
        return third === undefined ? this.#core(request, second) : undefined;
      case 'apis':
        return rest.length === 0 ? this.#groups(request, second, third) : undefined;
      default:
        return undefined;
    }
  }

  /** Throws `NotAcceptable` when a document of JSON is asked for in another form. Discovery has forms of its own. */
  checkAccept(request: ServerRequest): void {
    if (aggregatedAsked(request) === undefined) negotiate(request.headers.accept);
  }

  #paths(): string[] {
    const groups = apiGroupList(this.#registry.kinds()).groups.flatMap((group) => [
      `/apis/${group.name}`,
      ...group.versions.map((version) => `/apis/${version.groupVersion}`),
    ]);
    return [
      '/.well-known/openid-configuration',
      '/api',
      '/api/v1',
      '/apis',
      ...groups,
      '/healthz',
      '/livez',
      '/openapi/v2',
      '/openapi/v3',
      '/openid/v1/jwks',
      '/readyz',
      '/version',
    ];
  }

  #core(request: ServerRequest, version: string | undefined): ServerResponse | undefined {
    const kinds = this.#registry.kinds();
    if (version !== undefined) return found(request, apiResourceList(kinds, '', version));
    const aggregated = aggregatedAsked(request);
    if (aggregated !== undefined)
      return tagged(request, aggregatedCore(kinds, aggregated), AGGREGATED_CONTENT_TYPE[aggregated]);
    return tagged(request, apiVersions(kinds, request.headers.host ?? 'localhost'));
  }

  #groups(request: ServerRequest, group: string | undefined, version: string | undefined): ServerResponse | undefined {
    const kinds = this.#registry.kinds();
    if (group !== undefined && version !== undefined) return found(request, apiResourceList(kinds, group, version));
    if (group !== undefined) return found(request, apiGroup(kinds, group));
    const aggregated = aggregatedAsked(request);
    if (aggregated !== undefined)
      return tagged(request, aggregatedGroups(kinds, aggregated), AGGREGATED_CONTENT_TYPE[aggregated]);
    return tagged(request, apiGroupList(kinds));
  }

  #openAPIv2(request: ServerRequest): ServerResponse {
    const form = v2Form(request.headers.accept ?? '');
    return encoded(request, this.#openAPI.v2(form), V2_CONTENT_TYPE[form]);
  }

  #openAPIv3(request: ServerRequest, path: readonly string[]): ServerResponse | undefined {
    const documents = this.#openAPI.v3();
    if (path.length === 0) return tagged(request, openAPIIndex(documents));
    const document = documents.get(path.join('/'));
    if (document === undefined) return undefined;
    // An address with another hash is of a document that was: the one that is now answers, to be asked for again.
    const forever = request.query.get('hash') === document.hash;
    return encoded(request, document, 'application/json', forever ? FOREVER : {});
  }
}

/** Keys change with the server's home only, so whoever checks tokens may keep them a while. */
function forAnHour(response: ServerResponse): ServerResponse {
  return { ...response, headers: { ...response.headers, 'cache-control': 'public, max-age=3600' } };
}

/** The aggregated form that the Accept header names before plain JSON. */
function aggregatedAsked(request: ServerRequest): AggregatedVersion | undefined {
  for (const entry of (request.headers.accept ?? '').split(',')) {
    const parameters = entry.split(';').map((part) => part.trim());
    if (!parameters.includes('as=APIGroupDiscoveryList') || !parameters.includes('g=apidiscovery.k8s.io')) {
      if (parameters[0] === 'application/json' && parameters.length === 1) return undefined;
      continue;
    }
    if (parameters.includes('v=v2')) return 'v2';
    if (parameters.includes('v=v2beta1')) return 'v2beta1';
  }
  return undefined;
}

function found(request: ServerRequest, document: object | undefined): ServerResponse | undefined {
  return document === undefined ? undefined : tagged(request, document);
}

/** A document with its ETag; 304 when the caller has it. */
function tagged(request: ServerRequest, document: object, contentType = 'application/json'): ServerResponse {
  const bytes = encoder.encode(encodeJson(document));
  return encoded(request, { bytes, hash: contentHash(bytes) }, contentType);
}

function encoded(
  request: ServerRequest,
  { bytes, hash }: EncodedDocument,
  contentType: string,
  more: Readonly<Record<string, string>> = {},
): ServerResponse {
  const etag = etagOf(hash);
  const headers = { etag, vary: 'Accept', 'cache-control': 'public', ...more };
  // A 304 has no body, so it has no type of one.
  if (matchesEtag(request.headers['if-none-match'], etag)) return { status: 304, headers, body: new Uint8Array() };
  return { status: 200, headers: { 'content-type': contentType, ...headers }, body: bytes };
}

/** 404 for a path that means nothing, in the plain text that clients know. */
export function nothingHere(): ServerResponse {
  return text(404, '404 page not found');
}

/** 404 for a resource that is not served, as a Status. */
export function noSuchResource(): ApiError {
  return new ApiError('NotFound', 'the server could not find the requested resource', { details: {} });
}
