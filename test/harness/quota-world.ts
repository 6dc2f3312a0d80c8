import assert from 'node:assert/strict';
import type { App } from '../../apiserver/requests/server-request.ts';
import type { Store } from '../../apiserver/store/store.ts';
import { anImage, DIGEST } from './builders.ts';
import { type RawAnswer, send } from './raw.ts';

const MERGE = { 'content-type': 'application/merge-patch+json' };
export const VMS_URL = '/apis/coppice.dev/v1/namespaces/red/vms';
const VM_PREFIX = 'objects/coppice.dev/vms/red/';

/** Tenant `red` with room for some VMs, and the image they start from. */
export async function makeQuota(app: App, maxVMs: number): Promise<void> {
  const tenant = {
    apiVersion: 'coppice.dev/v1',
    kind: 'Tenant',
    metadata: { name: 'red' },
    spec: { quota: { maxVMs } },
  };
  const { spec } = anImage();
  const image = { apiVersion: 'coppice.dev/v1', kind: 'Image', metadata: { name: 'tiny' }, spec };
  await ok(send(app, 'POST', '/apis/coppice.dev/v1/tenants', { body: tenant }));
  await ok(send(app, 'POST', '/apis/coppice.dev/v1/images', { body: image }));
  const body = { status: { digest: DIGEST } };
  await ok(send(app, 'PATCH', '/apis/coppice.dev/v1/images/tiny/status', { body, headers: MERGE }));
}

async function ok(answer: Promise<RawAnswer>): Promise<void> {
  const { status, text } = await answer;
  assert.ok(status < 300, text);
}

export function createVM(app: App, name: string): Promise<RawAnswer> {
  const body = { apiVersion: 'coppice.dev/v1', kind: 'VM', metadata: { name }, spec: { image: 'tiny' } };
  return send(app, 'POST', VMS_URL, { body });
}

/** Deletes a VM and lets go of it: gone when this is acknowledged. */
export async function removeVM(app: App, name: string): Promise<RawAnswer> {
  await send(app, 'DELETE', `${VMS_URL}/${name}`);
  return letGo(app, name);
}

/** Takes the finalizer off a VM that is being deleted. */
export function letGo(app: App, name: string): Promise<RawAnswer> {
  return send(app, 'PATCH', `${VMS_URL}/${name}`, { body: { metadata: { finalizers: null } }, headers: MERGE });
}

/** The most VMs there ever were at once, by the store's own history. */
export async function mostVMs(store: Store): Promise<number> {
  const stop = new AbortController();
  const there = new Set<string>();
  let most = 0;
  for await (const { revision, events } of store.watch(0, stop.signal)) {
    for (const event of events) {
      if (!event.key.startsWith(VM_PREFIX)) continue;
      if (event.type === 'put') there.add(event.key);
      else there.delete(event.key);
    }
    most = Math.max(most, there.size);
    if (revision >= store.revision()) break;
  }
  return most;
}
