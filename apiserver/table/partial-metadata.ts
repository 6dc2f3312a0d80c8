import type { KubeObject, ObjectMeta } from '../../resources/meta/object.ts';

/** The metadata of a list on the wire. */
export interface ListMeta {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

/** meta.k8s.io/v1 PartialObjectMetadata: an object without its own fields. */
export interface PartialObjectMetadata {
  readonly kind: 'PartialObjectMetadata';
  readonly apiVersion: 'meta.k8s.io/v1';
  readonly metadata: ObjectMeta;
}

export interface PartialObjectMetadataList {
  readonly kind: 'PartialObjectMetadataList';
  readonly apiVersion: 'meta.k8s.io/v1';
  readonly metadata: ListMeta;
  readonly items: readonly PartialObjectMetadata[];
}

export function partialMetadata(object: KubeObject): PartialObjectMetadata {
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata };
}

export function partialMetadataList(objects: readonly KubeObject[], listMeta: ListMeta): PartialObjectMetadataList {
  return {
    kind: 'PartialObjectMetadataList',
    apiVersion: 'meta.k8s.io/v1',
    metadata: listMeta,
    items: objects.map(partialMetadata),
  };
}
