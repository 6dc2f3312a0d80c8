import type { Verb } from '../../resources/meta/define-kind.ts';
import type { Role } from './identity.ts';

/** What a right is about: a verb of a resource, or standing in for somebody. */
export type Right = Verb | 'impersonate';

/** Which roles may use a verb on a resource. `controllers` = any duty; `controller:NAME` = that one; `authenticated` = whoever showed a credential. */
export type Allowed = readonly (Role | 'controllers' | 'authenticated')[];

/**
 * One row a resource or subresource: `group/plural` or `group/plural/sub`. A verb that a row does not name is nobody's.
 * A route without a row fails the build (test/apiserver/auth/authorization.test.ts).
 *
 * A host's rows hold only for its own Host and for VMs bound to it, a service account's only for its own namespace (`scope.ts`);
 * so do an owner's, beside reads of what all tenants may know.
 */
export type AuthorizationTable = Readonly<Record<string, Readonly<Partial<Record<Right, Allowed>>>>>;

const OPERATOR: Allowed = ['operator'];
const OWNER: Allowed = ['operator', 'owner'];
/** Where a nodelet speaks for itself: nobody else does, whatever else they may. */
const NODELET: Allowed = ['host'];
const ENROLLING: Allowed = ['host', 'enroller'];
/** Where API servers speak among themselves. */
const PEER: Allowed = ['apiserver'];
/** Where a new server speaks for itself, by a token that the operator made for it. */
const JOINING: Allowed = ['joiner'];
/** Cells that an operator has no part in. */
export const NOT_OPERATORS: ReadonlySet<Allowed> = new Set([NODELET, ENROLLING, PEER, JOINING]);
const AUTHENTICATED: Allowed = ['authenticated'];
const READERS: Allowed = ['operator', 'controllers'];
const EVERYONE: Allowed = ['operator', 'controllers', 'host'];
/** Garbage takes owner references and its own finalizers off, of whatever kind, when owners are deleted with Orphan or Foreground. */
const CASCADE: Allowed = ['operator', 'controller:garbage'];

/** Reads by operator and controllers; writes by the operator; more where a row adds it. */
const operated = { get: READERS, list: READERS, watch: READERS, create: OPERATOR, update: OPERATOR, patch: CASCADE };
/** The duties that delete whatever is in a namespace. */
const EMPTIERS: Allowed = ['operator', 'controller:garbage', 'controller:tenant'];
/** Who works in a namespace. */
const TENANT: Allowed = ['serviceaccount', 'owner'];
/** As `operated`, and a service account's and an owner's in their namespace. */
const automated: Readonly<Record<'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete', Allowed>> = {
  get: [...READERS, ...TENANT],
  list: [...READERS, ...TENANT],
  watch: [...READERS, ...TENANT],
  create: ['operator', ...TENANT],
  update: ['operator', ...TENANT],
  patch: [...CASCADE, ...TENANT],
  delete: [...EMPTIERS, ...TENANT],
};
/** What programs keep in their namespace. */
const NAMESPACED: AuthorizationTable[string] = { ...automated, deletecollection: OWNER };
/** What is an owner's own, as the operator's. */
const owned = {
  get: [...READERS, 'owner'],
  list: [...READERS, 'owner'],
  watch: [...READERS, 'owner'],
  create: OWNER,
  update: OWNER,
  patch: [...CASCADE, 'owner'],
  delete: [...EMPTIERS, 'owner'],
  deletecollection: OWNER,
} as const;
/** What every tenant may know. */
const known = { get: [...READERS, 'owner'], list: [...READERS, 'owner'], watch: [...READERS, 'owner'] } as const;
const removable = { delete: OPERATOR, deletecollection: OPERATOR };

/** What happened is told by those who saw it, and by programs; an owner reads it. */
const EVENTS: AuthorizationTable[string] = {
  ...automated,
  create: [...EVERYONE, 'serviceaccount'],
  update: [...EVERYONE, 'serviceaccount'],
  patch: [...EVERYONE, 'serviceaccount'],
  delete: [...EMPTIERS, 'serviceaccount'],
  deletecollection: OPERATOR,
};

export const AUTHORIZATION: AuthorizationTable = {
  'coppice.dev/tenants': {
    ...operated,
    ...known,
    delete: OPERATOR,
    deletecollection: OPERATOR,
    update: ['operator', 'controller:tenant'],
    patch: ['operator', 'controller:tenant', 'controller:garbage'],
  },
  'coppice.dev/tenants/status': status('tenant', 'owner'),
  // Whoever holds a token is the tenant's owner.
  'coppice.dev/tenants/token': { create: OPERATOR },

  'coppice.dev/hosts': {
    ...operated,
    ...removable,
    get: EVERYONE,
    list: EVERYONE,
    watch: EVERYONE,
    create: ['operator', 'host'],
  },
  'coppice.dev/hosts/status': {
    get: EVERYONE,
    update: [
      'operator',
      'host',
      'controller:host-liveness',
      'controller:lease',
      'controller:scrub',
      'controller:drain',
    ],
    patch: ['operator', 'host', 'controller:host-liveness', 'controller:lease', 'controller:scrub', 'controller:drain'],
  },
  'coppice.dev/hosts/control': { create: NODELET },
  'coppice.dev/hosts/dialback': { create: NODELET },
  'coppice.dev/hosts/relay': { create: PEER },
  'coppice.dev/hosts/controlplane': { create: NODELET },
  'coppice.dev/hosts/certificate': { create: ENROLLING },
  // Whoever holds a token becomes the host.
  'coppice.dev/hosts/token': { create: OPERATOR },

  'coppice.dev/images': {
    ...operated,
    ...removable,
    get: [...EVERYONE, 'owner'],
    list: [...EVERYONE, 'owner'],
    watch: [...EVERYONE, 'owner'],
  },
  'coppice.dev/images/status': status('image', 'owner'),

  // An owner is shown what is public of it (`shown-to.ts`).
  'coppice.dev/policies': { ...operated, ...removable, get: known.get, list: known.list },
  // Whoever holds a token gets every key there is.
  'coppice.dev/policies/jointoken': { create: OPERATOR },
  'coppice.dev/policies/join': { create: JOINING },
  'coppice.dev/policies/status': { get: READERS, update: OPERATOR, patch: OPERATOR },

  'coppice.dev/pricelists': { ...operated, ...removable, ...known },
  'coppice.dev/pricelists/status': { get: READERS, update: OPERATOR, patch: OPERATOR },

  'coppice.dev/leases': {
    ...owned,
    create: [...OWNER, 'controller:leaseset'],
    update: ['operator', 'owner', 'controller:lease', 'controller:tenant'],
    patch: ['operator', 'owner', 'controller:lease', 'controller:leaseset', 'controller:tenant', 'controller:garbage'],
    delete: ['operator', 'owner', 'controller:lease', 'controller:leaseset', 'controller:tenant', 'controller:garbage'],
  },
  'coppice.dev/leases/status': status('lease', 'owner'),

  'coppice.dev/leasesets': owned,
  'coppice.dev/leasesets/status': status('leaseset', 'owner'),
  'coppice.dev/leasesets/scale': { get: [...READERS, 'owner'], update: OWNER, patch: OWNER },

  'coppice.dev/pools': owned,
  'coppice.dev/pools/status': status('pool', 'owner'),
  'coppice.dev/pools/scale': { get: [...READERS, 'owner'], update: OWNER, patch: OWNER },

  'coppice.dev/volumes': {
    ...owned,
    get: [...EVERYONE, 'owner'],
    list: [...EVERYONE, 'owner'],
    watch: [...EVERYONE, 'owner'],
    update: [...OWNER, 'host', 'controller:volume'],
    patch: [...CASCADE, 'owner', 'host', 'controller:volume'],
  },
  'coppice.dev/volumes/status': {
    get: [...EVERYONE, 'owner'],
    update: ['operator', 'host', 'controller:volume'],
    patch: ['operator', 'host', 'controller:volume'],
  },

  'coppice.dev/vms': {
    ...owned,
    get: [...EVERYONE, 'owner'],
    list: [...EVERYONE, 'owner'],
    watch: [...EVERYONE, 'owner'],
    create: [...OWNER, 'controller:pool', 'controller:drain'],
    update: ['operator', 'owner', 'host', 'controller:placement', 'controller:vm-lifecycle'],
    patch: [
      'operator',
      'owner',
      'host',
      'controller:placement',
      'controller:drain',
      'controller:vm-lifecycle',
      'controller:garbage',
    ],
    delete: [
      'controller:pool',
      'operator',
      'owner',
      'controller:drain',
      'controller:vm-lifecycle',
      'controller:tenant',
      'controller:lease',
      'controller:scrub',
      'controller:garbage',
    ],
  },
  'coppice.dev/vms/status': {
    get: [...EVERYONE, 'owner'],
    update: ['operator', 'host', 'controller:placement'],
    patch: ['operator', 'host', 'controller:placement', 'controller:host-liveness'],
  },
  'coppice.dev/vms/binding': { patch: ['operator', 'controller:placement'] },
  'coppice.dev/vms/exec': { create: OWNER },
  'coppice.dev/vms/logs': { create: OWNER },

  'core/namespaces': {
    ...operated,
    get: [...READERS, ...TENANT],
    list: known.list,
    watch: known.watch,
    delete: OPERATOR,
  },
  'core/namespaces/status': { get: READERS, update: OPERATOR, patch: CASCADE },
  'core/namespaces/finalize': { update: ['operator', 'controller:garbage'] },

  // Their contents are the operator's and the owner's alone; whoever empties a namespace learns from its lists what there is.
  'core/configmaps': NAMESPACED,
  'core/secrets': {
    ...owned,
    get: OWNER,
    list: [...EMPTIERS, 'owner', 'controller:informers'],
    watch: [...OWNER, 'controller:informers'],
    patch: [...CASCADE, 'owner', 'controller:resealer'],
  },
  'core/services': { get: automated.get, list: automated.list, watch: automated.watch },
  'core/serviceaccounts': owned,
  // Whoever holds a token is the account.
  'core/serviceaccounts/token': { create: OWNER },

  'core/events': EVENTS,
  'events.k8s.io/events': EVENTS,

  'coordination.k8s.io/leases': {
    ...automated,
    create: [...READERS, ...TENANT],
    update: [...READERS, ...TENANT],
    patch: [...READERS, ...TENANT],
    // Servers remove their own, and those of servers that are gone.
    delete: [...EMPTIERS, 'controller:apiserver', 'controller:election', ...TENANT],
    deletecollection: OWNER,
  },

  // Whoever defines kinds decides what the server accepts and compiles.
  'apiextensions.k8s.io/customresourcedefinitions': { ...operated, ...removable },
  'apiextensions.k8s.io/customresourcedefinitions/status': { get: READERS, update: OPERATOR, patch: OPERATOR },

  // Everybody may ask about themselves; of others is told only to who may do all they may.
  'authentication.k8s.io/selfsubjectreviews': { create: AUTHENTICATED },
  'authorization.k8s.io/selfsubjectaccessreviews': { create: AUTHENTICATED },
  'authorization.k8s.io/selfsubjectrulesreviews': { create: AUTHENTICATED },
  'authentication.k8s.io/tokenreviews': { create: OPERATOR },
  'authorization.k8s.io/subjectaccessreviews': { create: OPERATOR },
  'authorization.k8s.io/localsubjectaccessreviews': { create: OPERATOR },
};

/** Who may ask as somebody else. What the other may is judged as if they asked. */
export const IMPERSONATION: AuthorizationTable = {
  // A process of controllers may stand in for duties only (`scope.ts`).
  'core/users': { impersonate: ['operator', 'controller-process'] },
  'core/groups': { impersonate: ['operator', 'controller-process'] },
  'core/serviceaccounts': { impersonate: OPERATOR },
  'authentication.k8s.io/uids': { impersonate: OPERATOR },
  'authentication.k8s.io/userextras': { impersonate: OPERATOR },
};

/** Kinds that users define: the operator's and, within their namespace, service accounts'; cleaned up by the duties that empty namespaces. */
export const USER_KIND: AuthorizationTable[string] = NAMESPACED;

function status(duty: string, ...readers: Allowed): AuthorizationTable[string] {
  return {
    get: [...EVERYONE, ...readers],
    update: ['operator', `controller:${duty}`],
    patch: ['operator', `controller:${duty}`],
  };
}

/** Paths that are not resources. `anonymous` ones answer without a credential. */
export const DOCUMENTS: Readonly<Record<string, 'anonymous' | 'authenticated'>> = {
  '': 'authenticated',
  api: 'authenticated',
  apis: 'authenticated',
  openapi: 'authenticated',
  openid: 'authenticated',
  '.well-known': 'authenticated',
  version: 'anonymous',
  healthz: 'anonymous',
  livez: 'anonymous',
  readyz: 'anonymous',
};
