import { NAMESPACES, type Ref, TENANTS, VMS, VOLUMES } from '../../resources/guards/refs.ts';
import type { WorldView } from '../../resources/guards/world.ts';
import type { Kind } from '../../resources/meta/define-kind.ts';
import { VERBS, type Verb } from '../../resources/meta/define-kind.ts';
import { entry } from '../../resources/meta/map-entry.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import { resourceId } from '../../resources/meta/resource-id.ts';
import { DOCUMENTS } from '../auth/authorization-table.ts';
import { holds, isOwn, mayEverything, mayGetDocument, permits, rowOf } from '../auth/authorize.ts';
import { hostNameOf, type Identity, ownedNamespace, roleOf, serviceAccountOf } from '../auth/identity.ts';
import { subresourcesOf } from '../discovery/verbs.ts';
import type { ServerParts } from '../verbs/verb-context.ts';

interface ResourceRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** The status of a rules review (k8s.io/api/authorization/v1 SubjectRulesReviewStatus). */
export interface Rules {
  readonly resourceRules: readonly ResourceRule[];
  readonly nonResourceRules: readonly {
    readonly verbs: readonly string[];
    readonly nonResourceURLs: readonly string[];
  }[];
  readonly incomplete: boolean;
  readonly evaluationError?: string;
}

/** Rules cannot say "all but": the two sockets on which only a nodelet speaks are denied all the same, and an access review says so. */
const EVERYTHING: Rules = {
  resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
  nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
  incomplete: false,
};

/** All that an identity may do in a namespace and outside of all, from the table that requests are judged by. */
export function rulesOf(
  identity: Identity,
  namespace: string,
  { registry, cache }: Pick<ServerParts, 'registry' | 'cache'>,
): Rules {
  if (mayEverything(identity)) return EVERYTHING;
  const kinds = new Map(registry.kinds().map((kind) => [resourceId(kind), kind]));
  const rights = [...kinds.values()].flatMap((kind) => rightsOf(identity, kind, namespace, cache.world));
  const documents = Object.keys(DOCUMENTS).filter((root) => mayGetDocument(identity, [root]));
  return {
    resourceRules: compact(rights),
    nonResourceRules: [{ verbs: ['get', 'head'], nonResourceURLs: documents.flatMap(pathsUnder) }],
    ...whatIsMissing(identity),
  };
}

/** Documents that have no others below them. */
const LEAVES: ReadonlySet<string> = new Set(['', 'version', 'healthz', 'livez', 'readyz']);
const pathsUnder = (root: string) => (LEAVES.has(root) ? [`/${root}`] : [`/${root}`, `/${root}/*`]);

/** A rule has no field selectors, and a nodelet lists VMs by one. */
function whatIsMissing(identity: Identity): Pick<Rules, 'incomplete' | 'evaluationError'> {
  if (roleOf(identity) !== 'host') return { incomplete: false };
  const how = `with the field selector spec.hostName=${hostNameOf(identity)}`;
  return {
    incomplete: true,
    evaluationError: `list and watch of vms.coppice.dev are allowed ${how}, which no rule can say`,
  };
}

/** Some verbs of one resource or subresource, for all objects or for those named. */
interface Right {
  readonly group: string;
  readonly resource: string;
  readonly verbs: readonly Verb[];
  readonly names: readonly string[] | undefined;
}

function rightsOf(identity: Identity, kind: Kind, namespace: string, world: WorldView): readonly Right[] {
  const parts = [undefined, ...subresourcesOf(kind).map(({ name }) => name)];
  const userKind = kind.origin === 'user';
  const { group, plural } = kind;
  const own = ownNames(identity, kind, namespace, world);
  return parts.flatMap((subresource) => {
    const row = rowOf(kind, subresource, userKind) ?? {};
    const resource = subresource === undefined ? plural : `${plural}/${subresource}`;
    const may = (verb: Verb, name: string | undefined) => {
      const where = kind.namespaced ? namespace : undefined;
      return permits(identity, {
        group,
        plural,
        subresource,
        verb,
        namespace: where,
        name,
        fields: NO_FIELDS,
        userKind,
      });
    };
    const held = VERBS.filter((verb) => kind.stored || verb === 'create').filter((verb) =>
      holds(identity, row[verb] ?? []),
    );
    const all = held.filter((verb) => may(verb, undefined));
    const named = held.filter((verb) => !all.includes(verb) && own.some((name) => may(verb, name)));
    const listed = boundTo(kind) !== undefined ? named.filter((verb) => verb !== 'list' && verb !== 'watch') : named;
    return [
      { group, resource, verbs: all, names: undefined },
      { group, resource, verbs: listed, names: own },
    ].filter(({ verbs }) => verbs.length > 0);
  });
}

const NO_FIELDS: ReadonlyMap<string, string> = new Map();

/** The objects of a kind for which alone an identity has rights: a host's own, a service account's namespace, an owner's and its tenant. */
function ownNames(identity: Identity, kind: Kind, namespace: string, world: WorldView): readonly string[] {
  const account = serviceAccountOf(identity.user);
  const owned = ownedNamespace(identity);
  if (owned !== undefined)
    return [NAMESPACES, TENANTS].some((ref) => resourceId(ref) === resourceId(kind)) ? [owned] : [];
  if (account !== undefined) return resourceId(kind) === resourceId(NAMESPACES) ? [account.namespace] : [];
  if (roleOf(identity) !== 'host') return [];
  if (kind.plural === 'hosts') return [hostNameOf(identity)];
  const bound = boundTo(kind);
  if (bound === undefined) return [];
  return [...world.list(bound, namespace)]
    .filter((object) => isOwn(identity, bound, object))
    .map(({ metadata }) => metadata.name);
}

/** The kind, if a host has rights to those of its objects that are bound to it. */
function boundTo(kind: Kind): Ref<KubeObject> | undefined {
  return [VMS, VOLUMES].find((ref) => resourceId(ref) === resourceId(kind));
}

/** One rule for all resources of a group with the same rights. */
function compact(rights: readonly Right[]): readonly ResourceRule[] {
  const alike = new Map<string, Right[]>();
  for (const right of rights)
    entry(alike, JSON.stringify([right.group, right.verbs, right.names]), () => []).push(right);
  return [...alike.values()].flatMap((those) => {
    const [first] = those;
    if (first === undefined) return [];
    const { verbs, group, names } = first;
    const resources = those.map(({ resource }) => resource);
    return [{ verbs, apiGroups: [group], resources, ...(names === undefined ? {} : { resourceNames: names }) }];
  });
}
