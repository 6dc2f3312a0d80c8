import { VMS } from '../../resources/guards/refs.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import type { Kind } from '../../resources/meta/define-kind.ts';
import { resourceId } from '../../resources/meta/resource-id.ts';
import { isOwn, mayEverything, mayGetDocument, permits } from '../auth/authorize.ts';
import { type Identity, roleOf } from '../auth/identity.ts';
import { readNamespace } from '../auth/own-request.ts';
import { parseFieldSelector } from '../selectors/field-selector.ts';
import type { ServerParts } from '../verbs/verb-context.ts';

/** A request for a resource, as access reviews put it (k8s.io/api/authorization/v1 ResourceAttributes). */
export interface ResourceAttributes {
  readonly namespace?: string;
  readonly verb?: string;
  readonly group?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly name?: string;
  readonly fieldSelector?: SelectorAttributes;
  readonly labelSelector?: SelectorAttributes;
}

export interface SelectorAttributes {
  readonly rawSelector?: string;
  readonly requirements?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

/** A request for a path that is no resource. */
export interface NonResourceAttributes {
  readonly path?: string;
  readonly verb?: string;
}

type Known = Pick<ServerParts, 'registry' | 'cache'>;

/** Whether the server would let an identity do this, by the table that it judges requests by. */
export function mayAccess(identity: Identity, asked: ResourceAttributes, { registry, cache }: Known): boolean {
  const { group = '', resource: plural = '', verb = '' } = asked;
  const kind = registry.kinds().find((each) => each.group === group && each.plural === plural);
  const named = kind?.namespaced === false ? undefined : given(asked.namespace);
  const namespace = named ?? (kind && readNamespace(identity, kind, verb));
  const name = given(asked.name);
  const fields = fieldsOf(kind, asked.fieldSelector);
  const subresource = given(asked.subresource);
  const userKind = kind?.origin === 'user';
  if (!permits(identity, { group, plural, subresource, verb, namespace, name, fields, userKind })) return false;
  // Requests for a VM of another host are let through to the VM, and end there.
  if (roleOf(identity) !== 'host' || name === undefined || resourceId({ group, plural }) !== resourceId(VMS))
    return true;
  const vm = cache.world.get(VMS, namespace, name);
  return vm !== undefined && isOwn(identity, VMS, vm);
}

/** The same of a path. */
export function mayGetPath(identity: Identity, { path = '', verb = '' }: NonResourceAttributes): boolean {
  if (mayEverything(identity)) return true;
  if (!path.startsWith('/') || !['get', 'head'].includes(verb)) return false;
  return mayGetDocument(
    identity,
    path.split('/').filter((segment) => segment !== ''),
  );
}

const given = (text: string | undefined): string | undefined => (text === '' ? undefined : text);

/** What a selector asks of fields exactly. One that cannot be read asks for nothing, so that it widens no right. */
function fieldsOf(kind: Kind | undefined, selector: SelectorAttributes | undefined): ReadonlyMap<string, string> {
  const { rawSelector = '', requirements = [] } = selector ?? {};
  const exact = requirements.flatMap(({ key, operator, values = [] }) =>
    operator === 'In' && values.length === 1 ? values.map((value) => [key, value] as const) : [],
  );
  if (rawSelector === '' || kind === undefined) return new Map(exact);
  try {
    const parsed = parseFieldSelector(rawSelector, kind).requirements;
    return new Map(parsed.filter(({ operator }) => operator === '=').map(({ field, value }) => [field, value]));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return new Map();
  }
}
