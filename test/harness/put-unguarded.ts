import { joinStoreKey } from '../../apiserver/cache/keys.ts';
import type { ResourceRef } from '../../resources/meta/define-kind.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import { objectKey } from '../../resources/meta/object.ts';
import { resourceId } from '../../resources/meta/resource-id.ts';
import type { TestServer } from './server.ts';

/** Writes objects into the store of a server in one transaction, past everything that guards it. */
export async function putUnguarded(
  { server, store }: TestServer,
  ...writes: readonly { readonly ref: ResourceRef; readonly object: KubeObject; readonly removed?: boolean }[]
): Promise<void> {
  const keyed = writes.map((write) => ({ ...write, key: keyOf(write.ref, write.object) }));
  const result = await store.txn({
    compares: [],
    puts: keyed
      .filter(({ removed }) => removed !== true)
      .map(({ ref, object, key }) => ({ key, value: server.parts.cache.codec.encode(ref, key, object) })),
    deletes: keyed.filter(({ removed }) => removed === true).map(({ key }) => key),
  }).done;
  if (!result.ok) throw new Error('the store refused what compares nothing');
}

const keyOf = (ref: ResourceRef, { metadata }: KubeObject) => joinStoreKey(resourceId(ref), objectKey(metadata));
