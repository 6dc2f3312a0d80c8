import { NAMESPACES } from '../../resources/guards/refs.ts';
import { ApiError, notFound } from '../../resources/meta/api-error.ts';
import type { Kind, Verb } from '../../resources/meta/define-kind.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import { resourceId } from '../../resources/meta/resource-id.ts';
import {
  type Allowed,
  AUTHORIZATION,
  type AuthorizationTable,
  DOCUMENTS,
  IMPERSONATION,
  NOT_OPERATORS,
  type Right,
  USER_KIND,
} from './authorization-table.ts';
import { AUTHENTICATED_GROUP, hostNameOf, type Identity, roleOf } from './identity.ts';
import { inScope, isForeign } from './scope.ts';

/** What is asked of a kind. */
export interface Ask {
  readonly kind: Kind;
  readonly verb: Verb;
  readonly subresource: string | undefined;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  /** The field selector of a list or watch: label → value. */
  readonly fields: ReadonlyMap<string, string>;
}

/** The same by names, of what may not be served: `*` stands for all of the group, resource or verb. */
export interface Access {
  readonly group: string;
  readonly plural: string;
  readonly subresource: string | undefined;
  readonly verb: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly fields: ReadonlyMap<string, string>;
  /** Whether users define the kind. */
  readonly userKind: boolean;
}

/** Throws `Forbidden`, or `NotFound` where the asker may not know that it is there. */
export function authorize(identity: Identity, ask: Ask): void {
  const { kind, ...rest } = ask;
  const access: Access = { ...rest, group: kind.group, plural: kind.plural, userKind: kind.origin === 'user' };
  if (permits(identity, access)) return;
  if (isForeign(identity, access)) throw notThere(ask);
  throw refused(identity, access, kind.namespaced ? ask.namespace : undefined);
}

/** In the words that there are for what is not there. */
function notThere({ kind, namespace, name }: Ask): ApiError {
  return namespace === undefined || name !== undefined ? notFound(kind, name ?? '') : notFound(NAMESPACES, namespace);
}

/** Whether the table lets an identity do this. Where it does not know the resource or verb, only who may do everything it knows may. */
export function permits(identity: Identity, access: Access): boolean {
  const allowed = cellOf(access);
  if (allowed === undefined) return mayEverything(identity);
  if (allowed.includes('authenticated') && isAuthenticated(identity)) return true;
  return holds(identity, allowed) && inScope(identity, access);
}

/** Whether a role that a cell names is the identity's, wherever the right holds. */
export function holds(identity: Identity, allowed: Allowed): boolean {
  if (allowed.includes('authenticated') && isAuthenticated(identity)) return true;
  const role = roleOf(identity);
  if (role === undefined) return false;
  return allowed.includes(role) || (role.startsWith('controller:') && allowed.includes('controllers'));
}

/** Whether the identity is in every cell of the table but where only a nodelet or another server speaks. Roles that have a scope are not: others' cells are there. */
export function mayEverything(identity: Identity): boolean {
  return EVERY_CELL.every((allowed) => holds(identity, allowed));
}

const EVERY_CELL: readonly Allowed[] = [AUTHORIZATION, IMPERSONATION, { any: USER_KIND ?? {} }].flatMap((table) =>
  Object.values<AuthorizationTable[string]>(table).flatMap((row) =>
    Object.values(row ?? {}).filter((cell) => !NOT_OPERATORS.has(cell ?? [])),
  ),
);

/** Whether an identity may get a path that is no resource. `segments` are those of the path. */
export function mayGetDocument(identity: Identity, [root = '']: readonly string[]): boolean {
  if (!Object.hasOwn(DOCUMENTS, root)) return mayEverything(identity);
  return DOCUMENTS[root] === 'anonymous' || isAuthenticated(identity);
}

const isAuthenticated = ({ groups }: Identity) => groups.includes(AUTHENTICATED_GROUP);

/** The row of the table for a resource; undefined means nobody. */
export function rowOf(kind: Pick<Kind, 'group' | 'plural'>, subresource: string | undefined, userKind: boolean) {
  if (userKind) return USER_KIND;
  const id = subresource === undefined ? resourceId(kind) : `${resourceId(kind)}/${subresource}`;
  return Object.hasOwn(AUTHORIZATION, id) ? AUTHORIZATION[id] : undefined;
}

function cellOf(access: Access): Allowed | undefined {
  if (access.verb === 'impersonate') {
    const id = resourceId(access);
    return Object.hasOwn(IMPERSONATION, id) ? IMPERSONATION[id]?.impersonate : undefined;
  }
  const row = rowOf(access, access.subresource, access.userKind);
  return row !== undefined && Object.hasOwn(row, access.verb) ? row[access.verb as Right] : undefined;
}

/** Whether an identity may touch this very object; called once it is at hand. Throws `NotFound` as if it were not there. That the identity is the
 * current Host's is for `authorizeHost`. */
export function authorizeObject(identity: Identity, kind: Kind, object: KubeObject): void {
  if (!isOwn(identity, kind, object)) throw notFound(kind, object.metadata.name);
}

/** Whether an object is one that the identity has to do with: a host has with itself, and with the VMs and volumes bound to it. */
export function isOwn(identity: Identity, { plural }: Pick<Kind, 'plural'>, object: KubeObject): boolean {
  if (roleOf(identity) !== 'host') return true;
  const host = hostNameOf(identity);
  if (plural === 'hosts') return object.metadata.name === host;
  if (plural !== 'vms' && plural !== 'volumes') return true;
  return (object.spec as { hostName?: string } | undefined)?.hostName === host;
}

/** 403 in the words every client knows. */
export function refused(identity: Identity, access: Access, namespace: string | undefined): ApiError {
  const { group, plural, subresource, verb, name } = access;
  const resource = subresource === undefined ? plural : `${plural}/${subresource}`;
  const qualified = group === '' ? resource : `${resource}.${group}`;
  const where = namespace === undefined ? ' at the cluster scope' : ` in the namespace "${namespace}"`;
  const what = `User "${identity.user}" cannot ${verb} resource "${resource}" in API group "${group}"${where}`;
  return new ApiError('Forbidden', `${qualified}${name === undefined ? '' : ` "${name}"`} is forbidden: ${what}`, {
    details: {
      ...(name === undefined ? {} : { name }),
      ...(group === '' ? {} : { group }),
      kind: plural,
    },
  });
}
