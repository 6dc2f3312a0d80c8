import assert from 'node:assert/strict';
import type { App } from '../../apiserver/requests/server-request.ts';
import { type RawAnswer, send } from './raw.ts';

const API = '/apis/coppice.dev/v1';
const MERGE = { 'content-type': 'application/merge-patch+json' };

/** GET of one of our own kinds' objects, or of a list of them; paths are below coppice.dev/v1. */
export function read(app: App, path: string): Promise<RawAnswer> {
  return send(app, 'GET', `${API}/${path}`);
}

/** POST of an object, which need not say its apiVersion. */
export function make(app: App, path: string, object: object): Promise<RawAnswer> {
  return send(app, 'POST', `${API}/${path}`, { body: { apiVersion: 'coppice.dev/v1', ...object } });
}

/** A merge patch. */
export function patch(app: App, path: string, body: object): Promise<RawAnswer> {
  return send(app, 'PATCH', `${API}/${path}`, { body, headers: MERGE });
}

/** DELETE. */
export function remove(app: App, path: string): Promise<RawAnswer> {
  return send(app, 'DELETE', `${API}/${path}`);
}

/** What must have been done. */
export async function ok(answer: Promise<RawAnswer>): Promise<RawAnswer> {
  const { status, text } = await answer;
  assert.ok(status < 300, text);
  return answer;
}
