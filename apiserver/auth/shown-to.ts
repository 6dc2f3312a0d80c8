import { POLICIES } from '../../resources/guards/refs.ts';
import { COPPICE_GROUP, type Kind } from '../../resources/meta/define-kind.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import { resourceId } from '../../resources/meta/resource-id.ts';
import type { ServedKind } from '../registry/registry.ts';
import { type Identity, ownedNamespace } from './identity.ts';

/** What of the policy is about tenants: the rest is the operator's own. */
const PUBLIC = [
  'requireLeaseForMacOS',
  'exclusiveLeasedHosts',
  'hostGroups',
  'defaultQuota',
  'minLeaseHours',
  'requiredTerms',
  'strandedVolumeRetention',
] as const;

const views = new WeakMap<ServedKind, ServedKind>();

/** A kind as an identity is shown it, in gets and lists: an owner sees of the policy what is about tenants. */
export function shownTo(identity: Identity, served: ServedKind): ServedKind {
  if (resourceId(served.kind) !== resourceId(POLICIES) || ownedNamespace(identity) === undefined) return served;
  const before = views.get(served);
  if (before !== undefined) return before;
  const view = { ...served, kind: publicKind(served.kind) };
  views.set(served, view);
  return view;
}

function publicKind(kind: Kind): Kind {
  const of = { group: COPPICE_GROUP, version: kind.version, plural: kind.plural, kind: kind.kind, namespaced: false };
  return { ...kind, view: { of, show: publicPart, keep: (object) => object } };
}

function publicPart({ apiVersion, kind, metadata, spec }: KubeObject & { spec?: object }): KubeObject {
  const { name, uid, resourceVersion, generation, creationTimestamp } = metadata;
  const shown = Object.entries(spec ?? {}).filter(([field]) => PUBLIC.some((one) => one === field));
  return {
    apiVersion,
    kind,
    metadata: { name, uid, resourceVersion, ...(generation === undefined ? {} : { generation }), creationTimestamp },
    spec: Object.fromEntries(shown),
  };
}
