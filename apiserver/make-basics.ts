import type { ResourceRef } from '../resources/meta/define-kind.ts';
import { ApiClient } from './client/client.ts';
import type { Transport } from './client/transport.ts';
import { unless } from './client/unless.ts';

const NAMESPACES = { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace', namespaced: false };
const POLICIES = { group: 'coppice.dev', version: 'v1', plural: 'policies', kind: 'Policy', namespaced: false };

const PRICE_LISTS = { group: 'coppice.dev', version: 'v1', plural: 'pricelists', kind: 'PriceList', namespaced: false };

/** The namespaces, the policy and the prices that every fleet has; there already on every start but the first. */
export async function makeBasics(transport: Transport): Promise<void> {
  const client = new ApiClient(transport);
  const make = async (ref: ResourceRef, apiVersion: string, name: string) => {
    // Looked for first: a refused create costs compiling the kind's schema, on every start.
    const found = await client.resource(ref).get(name).catch(unless('NotFound'));
    if (found !== undefined) return;
    await client
      .resource(ref)
      .create({ apiVersion, kind: ref.kind, metadata: { name } })
      .catch(unless('AlreadyExists'));
  };
  await make(NAMESPACES, 'v1', 'default');
  await make(NAMESPACES, 'v1', 'coppice-system');
  await make(POLICIES, 'coppice.dev/v1', 'default');
  await make(PRICE_LISTS, 'coppice.dev/v1', 'default');
}
