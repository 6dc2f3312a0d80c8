import assert from 'node:assert/strict';
import type { Store } from '../../../apiserver/store/store.ts';
import type { Clock } from '../../../resources/ambient/clock.ts';
import type { Logger } from '../../../resources/ambient/log.ts';
import type { JsonObject } from '../../../resources/meta/object.ts';
import { type Answer, type RawAnswer, type RawWish, send } from '../../harness/raw.ts';
import { startTestServer, type TestServer } from '../../harness/server.ts';

export const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
export const MERGE = 'application/merge-patch+json';

/** A server, and requests to it as the operator. */
export class CrdServer implements AsyncDisposable {
  readonly test: TestServer;

  private constructor(test: TestServer) {
    this.test = test;
  }

  static async start(options: { store?: Store; clock?: Clock; log?: Logger } = {}): Promise<CrdServer> {
    return new CrdServer(await startTestServer(options));
  }

  send(method: string, url: string, body?: unknown, type?: string, more: RawWish = {}): Promise<RawAnswer> {
    const headers = { ...more.headers, ...(type === undefined ? {} : { 'content-type': type }) };
    return send(this.test.server.app, method, url, { ...more, headers, ...(body === undefined ? {} : { body }) });
  }

  /** The body of an answer that must be a success. */
  async ok(method: string, url: string, body?: unknown, type?: string): Promise<Answer & JsonObject> {
    const answer = await this.send(method, url, body, type);
    assert.ok(answer.status < 300, `${method} ${url}: ${answer.text}`);
    return answer.body as Answer & JsonObject;
  }

  /** The fields of the causes of a 422. */
  async refused(method: string, url: string, body: unknown, type?: string): Promise<readonly (string | undefined)[]> {
    const { status, body: answer, text } = await this.send(method, url, body, type);
    assert.equal(status, 422, text);
    return (answer.details?.causes ?? []).map((cause) => cause.field);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.test[Symbol.asyncDispose]();
  }
}

export const SPEC: JsonObject = { type: 'object', properties: { size: { type: 'integer' } } };

/** A version of a definition as a client sends it. */
export function version(name: string, over: JsonObject = {}): JsonObject {
  return { name, served: true, storage: true, schema: schema(SPEC), ...over };
}

export const schema = (spec: JsonObject, more: JsonObject = {}): JsonObject => ({
  openAPIV3Schema: { type: 'object', properties: { spec, ...more } },
});

/** `things.test.example.com` as a client sends it. */
export function definition(over: JsonObject = {}, names: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  const called = { plural: 'things', kind: 'Thing', ...names };
  const spec = { group: 'test.example.com', scope: 'Cluster', versions: [version('v1')], ...over };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${called.plural}.${spec.group}`, ...metadata },
    spec: { ...spec, names: called },
  };
}

export function thing(name: string, over: JsonObject = {}): JsonObject {
  return { apiVersion: 'test.example.com/v1', kind: 'Thing', metadata: { name }, spec: { size: 1 }, ...over };
}

export const THINGS = '/apis/test.example.com/v1/things';
export const THING_CRD = `${CRDS}/things.test.example.com`;
