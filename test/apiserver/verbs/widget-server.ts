import assert from 'node:assert/strict';
import type { Clock } from '../../../resources/ambient/clock.ts';
import type { ManagedFieldsEntry } from '../../../resources/meta/object.ts';
import { GADGET, WIDGET } from '../../builders/widget.ts';
import { type Answer, type RawAnswer, type RawWish, send } from '../../harness/raw.ts';
import { startTestServer, type TestServer } from '../../harness/server.ts';

export const WIDGETS = '/apis/demo.example.com/v1/namespaces/demo/widgets';
export const GADGETS = '/apis/demo.example.com/v1/gadgets';
export const NAMESPACES = '/api/v1/namespaces';
export const MERGE = 'application/merge-patch+json';
export const JSON_PATCH = 'application/json-patch+json';
export const STRATEGIC = 'application/strategic-merge-patch+json';

/** A server with users' kinds and namespace `demo`. */
export class WidgetServer implements AsyncDisposable {
  readonly test: TestServer;

  private constructor(test: TestServer) {
    this.test = test;
  }

  static async start(options: { clock?: Clock; unreadBytes?: number } = {}): Promise<WidgetServer> {
    const server = new WidgetServer(await startTestServer({ ...options, kinds: [WIDGET, GADGET] }));
    await server.ok('POST', NAMESPACES, { metadata: { name: 'demo' } });
    return server;
  }

  get app() {
    return this.test.server.app;
  }

  send(method: string, url: string, body?: unknown, type?: string, more: RawWish = {}): Promise<RawAnswer> {
    const headers = { ...more.headers, ...(type === undefined ? {} : { 'content-type': type }) };
    return send(this.app, method, url, { ...more, headers, ...(body === undefined ? {} : { body }) });
  }

  /** The body of an answer that must be a success. */
  async ok(method: string, url: string, body?: unknown, type?: string): Promise<Answer & { metadata: Meta }> {
    const answer = await this.send(method, url, body, type);
    assert.ok(answer.status < 300, `${method} ${url}: ${answer.text}`);
    return answer.body as Answer & { metadata: Meta };
  }

  make(name: string, over: object = {}): Promise<Answer & { metadata: Meta }> {
    return this.ok('POST', WIDGETS, widget(name, over));
  }

  /** The store's revision: it moves with every write. */
  get revision(): number {
    return this.test.store.revision();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.test[Symbol.asyncDispose]();
  }
}

export interface Meta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly finalizers?: string[];
  readonly labels?: Record<string, string>;
  readonly managedFields?: readonly ManagedFieldsEntry[];
}

/** A widget as a client sends it. */
export function widget(name: string, over: { metadata?: object; spec?: object; status?: object } = {}): object {
  return {
    apiVersion: 'demo.example.com/v1',
    kind: 'Widget',
    metadata: { name, ...over.metadata },
    spec: { size: 'small', ...over.spec },
    ...(over.status === undefined ? {} : { status: over.status }),
  };
}
