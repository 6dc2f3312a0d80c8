import { createHash } from 'node:crypto';
import type { Kind } from '../../resources/meta/define-kind.ts';

/** In the order a Kubernetes server lists them for custom kinds; tables that print verbs show it. */
const CUSTOM = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'] as const;
const BUILT_IN = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'] as const;

/** What may be done with the objects of a kind. */
export function verbsOf(kind: Kind): readonly string[] {
  return (kind.origin === 'core' ? BUILT_IN : CUSTOM).filter((verb) => kind.verbs.includes(verb));
}

/** A subresource as discovery states it: the kind it answers with, and its verbs. */
export interface Subresource {
  readonly name: string;
  readonly responseKind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly verbs: readonly string[];
}

/** The subresources of a kind. Actions answer with a kind of their own. Streams are authorised as `create` whatever the method, and opened by GET or POST. */
export function subresourcesOf(kind: Kind): readonly Subresource[] {
  const own = { group: kind.group, version: kind.version, kind: kind.kind };
  const scale = { group: 'autoscaling', version: 'v1', kind: 'Scale' };
  const update = ['get', 'patch', 'update'];
  return [
    ...(kind.status ? [{ name: 'status', responseKind: own, verbs: update }] : []),
    ...(kind.scale === undefined ? [] : [{ name: 'scale', responseKind: scale, verbs: update }]),
    ...Object.keys(kind.parts).map((name) => ({ name, responseKind: own, verbs: ['update'] })),
    ...Object.keys(kind.joint).map((name) => ({ name, responseKind: own, verbs: ['patch'] })),
    ...kind.actions.map(({ name, request: { group, version, kind: answered } }) => ({
      name,
      responseKind: { group, version, kind: answered },
      verbs: ['create'],
    })),
    ...kind.streams.map(({ name }) => ({ name, responseKind: own, verbs: ['create', 'get'] })),
  ];
}

/**
 * Changes when objects of a kind are kept in another version: clients that migrate stored objects look for it. The hash is made as
 * Kubernetes makes it, so that it is the same here and there.
 */
export function storageVersionHash(kind: Kind): string {
  const { version } = kind.storage ?? kind;
  const name = `${kind.group}/${version}/${kind.kind}`;
  return createHash('sha256').update(name).digest().subarray(0, 8).toString('base64');
}
