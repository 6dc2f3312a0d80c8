import type { KubeObject, ObjectMeta } from '../../resources/meta/object.ts';
import type { MetaVersion } from '../requests/media-type.ts';

/** The metadata of a list on the wire. */
export interface ListMeta {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

/** PartialObjectMetadata: an object without its own fields. */
export interface PartialObjectMetadata {
  readonly kind: 'PartialObjectMetadata';
  readonly apiVersion: MetaVersion;
  readonly metadata: Partial<ObjectMeta>;
}

interface PartialObjectMetadataList {
  readonly kind: 'PartialObjectMetadataList';
  readonly apiVersion: MetaVersion;
  readonly metadata: ListMeta;
  readonly items: readonly PartialObjectMetadata[];
}

export function partialMetadata(
  object: { readonly metadata: PartialObjectMetadata['metadata'] },
  apiVersion: MetaVersion = 'meta.k8s.io/v1',
): PartialObjectMetadata {
  return { kind: 'PartialObjectMetadata', apiVersion, metadata: object.metadata };
}

export function partialMetadataList(
  objects: readonly KubeObject[],
  listMeta: ListMeta,
  apiVersion: MetaVersion = 'meta.k8s.io/v1',
): PartialObjectMetadataList {
  return {
    kind: 'PartialObjectMetadataList',
    apiVersion,
    metadata: listMeta,
    items: objects.map((object) => partialMetadata(object, apiVersion)),
  };
}
