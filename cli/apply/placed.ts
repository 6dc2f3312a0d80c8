import type { JsonObject } from '../../resources/meta/object.ts';
import { type DiscoveredResource, discover } from '../discovery/discovery.ts';
import { resourceOfKind } from '../discovery/resolve.ts';
import type { Session } from '../session.ts';
import { at, type SourceObject } from '../yaml/documents.ts';

/** An object of a file, with the resource and namespace it belongs to. */
export interface PlacedObject {
  readonly resource: DiscoveredResource;
  readonly namespace: string | undefined;
  readonly name: string;
  /** As written, with the namespace filled in where it has one. */
  readonly object: JsonObject;
  readonly source: SourceObject['source'];
}

/** Finds where each object belongs. One whose kind the server lacks is an error that says where it stands. */
export async function placeObjects(session: Session, objects: readonly SourceObject[]): Promise<PlacedObject[]> {
  const all = await discover(session.client, session.io.signal);
  return objects.map(({ object, source }) => {
    const resource = resourceOfKind(all, object.apiVersion, object.kind);
    if (resource === undefined) throw at(source, `the server has no kind "${object.kind}" in "${object.apiVersion}"`);
    const { name } = object.metadata;
    if (typeof name !== 'string')
      throw at(source, `metadata.name of the ${object.kind} is missing; generateName will not do here`);
    if (!resource.namespaced) return { resource, namespace: undefined, name, object, source };
    const own = object.metadata.namespace;
    if (typeof own === 'string' && own !== '' && session.namespaceGiven && own !== session.namespace)
      throw at(source, `the ${object.kind} is in namespace "${own}", but -n says "${session.namespace}"`);
    const namespace = typeof own === 'string' && own !== '' ? own : session.namespace;
    return { resource, namespace, name, object: { ...object, metadata: { ...object.metadata, namespace } }, source };
  });
}
