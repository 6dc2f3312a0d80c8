import type { ResourceRef } from '../../resources/meta/define-kind.ts';
import { type KubeObject, type OwnerReference, objectKey } from '../../resources/meta/object.ts';
import { resourceId } from '../../resources/meta/resource-id.ts';
import type { CacheView, Change, IndexView } from '../runtime/cache.ts';
import type { ServedResource } from '../runtime/discovery.ts';
import type { Enqueue, Watch } from '../runtime/duty.ts';
import type { Caches } from '../runtime/informers.ts';

interface Followed {
  readonly ref: ResourceRef;
  readonly cache: CacheView<KubeObject>;
  readonly byOwner: IndexView<KubeObject>;
  readonly unsubscribe: () => void;
}

/** An object and where it is kept. */
export interface Found {
  readonly ref: ResourceRef;
  readonly object: KubeObject;
}

/** Every resource the server has, followed for who owns whom. Holds only identities of objects that nobody else reads whole. */
export class OwnedObjects {
  readonly #informers: Caches;
  readonly #followed = new Map<string, Followed>();
  #enqueue: Enqueue = () => {};
  /** Wakes for objects that have owners, and for those whose owner went. */
  readonly watch: Watch = {
    start: (enqueue) => {
      this.#enqueue = enqueue;
      return () => {
        for (const { unsubscribe } of this.#followed.values()) unsubscribe();
      };
    },
    // Its resources are not known before it has asked the server for them.
    whenSynced: async () => {},
  };

  constructor(informers: Caches) {
    this.#informers = informers;
  }

  /** Follows what is served now, and no longer what is not. */
  async follow(served: readonly ServedResource[]): Promise<void> {
    const wanted = new Map(
      served
        .filter(({ verbs }) => ['list', 'watch', 'delete'].every((verb) => verbs.includes(verb)))
        .map((ref) => [resourceId(ref), ref]),
    );
    for (const [id, { ref, byOwner, unsubscribe }] of this.#followed) {
      if (wanted.has(id)) continue;
      unsubscribe();
      byOwner[Symbol.dispose]();
      this.#followed.delete(id);
      await this.#informers.drop(ref);
    }
    for (const [id, ref] of wanted) if (!this.#followed.has(id)) this.#begin(id, ref);
  }

  /** The object of a key that `watch` enqueued. */
  find(key: string): Found | undefined {
    const [id = '', objectPart = ''] = splitOnce(key, ' ');
    const followed = this.#followed.get(id);
    const object = followed?.cache.get(objectPart);
    return followed === undefined || object === undefined ? undefined : { ref: followed.ref, object };
  }

  /**
   * Everything else that names an object as its owner. What is in a namespace owns within it only: a name for it elsewhere is somebody's claim, which
   * holds nothing.
   */
  dependents({ metadata: { uid, namespace } }: KubeObject): readonly Found[] {
    return [...this.#followed.values()].flatMap(({ ref, byOwner }) =>
      byOwner
        .get(uid)
        .filter(({ metadata }) => metadata.uid !== uid && (namespace === undefined || metadata.namespace === namespace))
        .map((object) => ({ ref, object })),
    );
  }

  /** The namespaces in which anything is. */
  namespaces(): ReadonlySet<string> {
    const names = new Set<string>();
    for (const { cache } of this.#followed.values()) {
      for (const { metadata } of cache.list()) if (metadata.namespace !== undefined) names.add(metadata.namespace);
    }
    return names;
  }

  /** Where an owner is found, and the cached object there; undefined when no such kind is served. */
  owner(
    reference: OwnerReference,
    namespace: string | undefined,
  ): { ref: ResourceRef; cached?: KubeObject } | undefined {
    for (const { ref, cache } of this.#followed.values()) {
      if (ref.kind !== reference.kind || groupOf(reference.apiVersion) !== ref.group) continue;
      const cached = cache.get(objectKey({ name: reference.name, namespace: ref.namespaced ? namespace : undefined }));
      return { ref, ...(cached === undefined ? {} : { cached }) };
    }
    return undefined;
  }

  #begin(id: string, ref: ResourceRef): void {
    const cache = this.#informers.trimmed(ref, trim);
    const byOwner = cache.index((object) => (object.metadata.ownerReferences ?? []).map((owner) => owner.uid));
    const wake = ({ before, after }: Change<KubeObject>) => {
      if (before !== undefined && before.metadata.uid !== after?.metadata.uid)
        this.#wakeDependents(before.metadata.uid);
      if (after !== undefined && concernsUs(after)) this.#enqueue(`${id} ${objectKey(after.metadata)}`);
    };
    this.#followed.set(id, { ref, cache, byOwner, unsubscribe: cache.subscribe(wake) });
    for (const after of cache.list()) wake({ key: objectKey(after.metadata), before: undefined, after });
  }

  #wakeDependents(uid: string): void {
    for (const [id, { byOwner }] of this.#followed) {
      for (const dependent of byOwner.get(uid)) this.#enqueue(`${id} ${objectKey(dependent.metadata)}`);
    }
  }
}

/** It has owners, or is being deleted and held. */
function concernsUs({ metadata }: KubeObject): boolean {
  const held = metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length > 0;
  return held || (metadata.ownerReferences ?? []).length > 0;
}

/** The group in `group/version`; empty for the core's `v1`. */
function groupOf(apiVersion: string): string {
  const [group, version] = splitOnce(apiVersion, '/');
  return version === undefined ? '' : (group ?? '');
}

function splitOnce(text: string, by: string): readonly string[] {
  const at = text.indexOf(by);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + by.length)];
}

/** What garbage needs of an object: who it is, who owns it, what holds it, when it was written, and when it last happened if it is an Event. */
export function trim(object: KubeObject): KubeObject {
  const { apiVersion, kind, metadata, lastTimestamp, eventTime, series } = object;
  const { labels: _, annotations: __, managedFields, ...identity } = metadata;
  const written = managedFields?.map((entry) => ({ ...entry, fieldsV1: {} }));
  const who = written === undefined ? identity : { ...identity, managedFields: written };
  return { apiVersion, kind, metadata: who, lastTimestamp, eventTime, series };
}
