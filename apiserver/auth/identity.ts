import type { Asker } from '../../resources/guards/guard.ts';

/** Who asks. */
export interface Identity {
  readonly user: string;
  readonly groups: readonly string[];
  readonly uid?: string;
  /** What else was learned of who asks, such as the id of the token. */
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** What an identity may be, as the authorization table knows it. */
export type Role =
  | 'operator'
  | 'joiner'
  | 'host'
  | 'enroller'
  | 'apiserver'
  | 'serviceaccount'
  | 'owner'
  | 'controller-process'
  | `controller:${string}`;

export const OPERATOR: Identity = { user: 'operator', groups: ['coppice:operators', 'system:authenticated'] };

/** The identity of a nodelet: it may touch its own Host and the VMs bound to it. */
export function hostIdentity(name: string, uid?: string): Identity {
  return {
    user: `system:host:${name}`,
    groups: ['system:hosts', 'system:authenticated'],
    ...(uid === undefined ? {} : { uid }),
  };
}

/** The identity of who shows a host's enrollment token: it may get that host's certificate. `token` is how the token is kept. */
export function enrollerIdentity(host: string, uid: string, token: string): Identity {
  return {
    user: `system:enrolling:${host}`,
    groups: ['system:enrolling', 'system:authenticated'],
    uid,
    extra: { [ENROLLMENT_TOKEN]: [token] },
  };
}

/** Where an enroller's identity says by which token it is one. */
export const ENROLLMENT_TOKEN = 'coppice.dev/enrollment-token';

/** The identity of who shows a join token, good or not: it may ask for the keys of the fleet, and is refused there. `token` is how the token is kept. */
export function joinerIdentity(token: string): Identity {
  return { user: JOINER, groups: ['system:joining'], extra: { [JOIN_TOKEN_HASH]: [token] } };
}

const JOINER = 'system:joiner';
/** Where a joiner's identity says by which token it is one. */
export const JOIN_TOKEN_HASH = 'coppice.dev/join-token';

/** The identity of one controller duty. */
export function controllerIdentity(duty: string): Identity {
  return { user: `system:controller:${duty}`, groups: ['system:controllers', 'system:authenticated'] };
}

/** A process that runs duties. It may be each of them, and nothing else: by itself it has no rights. */
export const CONTROLLER_PROCESS: Identity = {
  user: 'system:controllers',
  groups: ['system:controller-processes', 'system:authenticated'],
};

/** The identity of an API server to the others of its store: it may open streams that clients of its own asked for, and nothing else. */
export function serverIdentity(name: string): Identity {
  return { user: `system:apiserver:${name}`, groups: ['system:apiservers', 'system:authenticated'] };
}

const TENANT_GROUP = 'system:tenants';
const OWNER = /^system:tenant:([^:]+)$/;

/** The identity of who owns a tenant, by the tenant's token. */
export function ownerIdentity(tenant: string, uid?: string): Identity {
  return {
    user: `system:tenant:${tenant}`,
    groups: [TENANT_GROUP, 'system:authenticated'],
    ...(uid === undefined ? {} : { uid }),
  };
}

/** The group of whoever showed a credential. */
export const AUTHENTICATED_GROUP = 'system:authenticated';
export const ANONYMOUS: Identity = { user: 'system:anonymous', groups: ['system:unauthenticated'] };

/** The groups of every service account of a namespace. */
export function serviceAccountGroups(namespace: string): readonly string[] {
  return ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, AUTHENTICATED_GROUP];
}

/** The identity of a program by its ServiceAccount. */
export function serviceAccountIdentity(namespace: string, name: string): Identity {
  return { user: `system:serviceaccount:${namespace}:${name}`, groups: serviceAccountGroups(namespace) };
}

/** The namespace and name in a service account's user name; undefined when it is none. */
export function serviceAccountOf(user: string): { readonly namespace: string; readonly name: string } | undefined {
  const [, namespace, name] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user) ?? [];
  return namespace === undefined || name === undefined ? undefined : { namespace, name };
}

/** The tenant whose an identity is: its owner, or a program in its namespace. Undefined for all others. */
export function tenantOf({ user }: Identity): string | undefined {
  return OWNER.exec(user)?.[1] ?? serviceAccountOf(user)?.namespace;
}

/** The namespace that is all an owner knows of; undefined for who is no owner. */
export function ownedNamespace(identity: Identity): string | undefined {
  return roleOf(identity) === 'owner' ? tenantOf(identity) : undefined;
}

/** The role of an identity; undefined = known to nobody. `system:masters` is what Kubernetes calls those who may do everything. */
export function roleOf(identity: Identity): Role | undefined {
  if (identity.groups.includes('coppice:operators') || identity.groups.includes('system:masters')) return 'operator';
  if (identity.groups.includes('system:hosts') && /^system:host:./.test(identity.user)) return 'host';
  if (identity.groups.includes('system:enrolling') && /^system:enrolling:./.test(identity.user)) return 'enroller';
  if (identity.groups.includes('system:joining') && identity.user === JOINER) return 'joiner';
  if (identity.groups.includes('system:controllers') && /^system:controller:./.test(identity.user))
    return `controller:${identity.user.slice('system:controller:'.length)}`;
  if (identity.groups.includes('system:controller-processes') && identity.user === CONTROLLER_PROCESS.user)
    return 'controller-process';
  if (identity.groups.includes('system:apiservers') && /^system:apiserver:./.test(identity.user)) return 'apiserver';
  if (identity.groups.includes('system:serviceaccounts') && serviceAccountOf(identity.user) !== undefined)
    return 'serviceaccount';
  if (identity.groups.includes(TENANT_GROUP) && OWNER.test(identity.user)) return 'owner';
  return undefined;
}

/** Who asks, as rules know them. */
export function askerOf(identity: Identity): Asker {
  return { user: identity.user, operator: roleOf(identity) === 'operator' };
}

/** The host a nodelet's identity is for, or that of who enrolls it. */
export function hostNameOf(identity: Identity): string {
  return identity.user.replace(/^system:(host|enrolling):/, '');
}

/** The writer names (`x-coppice-writer`) an identity may write as. The operator may write as any. */
export function writesAs(identity: Identity, writer: string): boolean {
  const role = roleOf(identity);
  return role === 'operator' || role === `controller:${writer}` || (role === 'host' && writer === 'nodelet');
}
