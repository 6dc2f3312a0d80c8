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
 * A host's rows hold only for its own Host and for VMs bound to it, a service account's only for its own namespace (`scope.ts`).
 */
export type AuthorizationTable = Readonly<Record<string, Readonly<Partial<Record<Right, Allowed>>>>>;

const OPERATOR: Allowed = ['operator'];
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
/** As `operated`, and a service account's in its own namespace. */
const automated: Readonly<Record<'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete', Allowed>> = {
  get: [...READERS, 'serviceaccount'],
  list: [...READERS, 'serviceaccount'],
  watch: [...READERS, 'serviceaccount'],
  create: ['operator', 'serviceaccount'],
  update: ['operator', 'serviceaccount'],
  patch: [...CASCADE, 'serviceaccount'],
  delete: [...EMPTIERS, 'serviceaccount'],
};
/** What programs keep in their namespace. */
const NAMESPACED: AuthorizationTable[string] = { ...automated, deletecollection: OPERATOR };
const removable = { delete: OPERATOR, deletecollection: OPERATOR };

const EVENTS: AuthorizationTable[string] = {
  ...NAMESPACED,
  create: [...EVERYONE, 'serviceaccount'],
  update: [...EVERYONE, 'serviceaccount'],
  patch: [...EVERYONE, 'serviceaccount'],
};

export const AUTHORIZATION: AuthorizationTable = {
  'coppice.dev/tenants': {
    ...operated,
    delete: OPERATOR,
    deletecollection: OPERATOR,
    update: ['operator', 'controller:tenant'],
    patch: ['operator', 'controller:tenant', 'controller:garbage'],
  },
  'coppice.dev/tenants/status': status('tenant'),

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
    update: ['operator', 'host', 'controller:host-liveness', 'controller:lease', 'controller:scrub'],
    patch: ['operator', 'host', 'controller:host-liveness', 'controller:lease', 'controller:scrub'],
  },
  'coppice.dev/hosts/control': { create: NODELET },
  'coppice.dev/hosts/dialback': { create: NODELET },
  'coppice.dev/hosts/relay': { create: PEER },
  'coppice.dev/hosts/controlplane': { create: NODELET },
  'coppice.dev/hosts/certificate': { create: ENROLLING },
  // Whoever holds a token becomes the host.
  'coppice.dev/hosts/token': { create: OPERATOR },

  'coppice.dev/images': { ...operated, ...removable, get: EVERYONE, list: EVERYONE, watch: EVERYONE },
  'coppice.dev/images/status': status('image'),

  'coppice.dev/policies': { ...operated, ...removable },
  // Whoever holds a token gets every key there is.
  'coppice.dev/policies/jointoken': { create: OPERATOR },
  'coppice.dev/policies/join': { create: JOINING },
  'coppice.dev/policies/status': { get: READERS, update: OPERATOR, patch: OPERATOR },

  'coppice.dev/pricelists': { ...operated, ...removable },
  'coppice.dev/pricelists/status': { get: READERS, update: OPERATOR, patch: OPERATOR },

  'coppice.dev/leases': {
    ...operated,
    update: ['operator', 'controller:lease', 'controller:tenant'],
    patch: ['operator', 'controller:lease', 'controller:tenant', 'controller:garbage'],
    delete: ['operator', 'controller:lease', 'controller:tenant', 'controller:garbage'],
    deletecollection: OPERATOR,
  },
  'coppice.dev/leases/status': status('lease'),

  'coppice.dev/vms': {
    ...operated,
    get: EVERYONE,
    list: EVERYONE,
    watch: EVERYONE,
    update: ['operator', 'host', 'controller:placement', 'controller:vm-lifecycle'],
    patch: ['operator', 'host', 'controller:placement', 'controller:vm-lifecycle', 'controller:garbage'],
    delete: [
      'operator',
      'controller:vm-lifecycle',
      'controller:tenant',
      'controller:lease',
      'controller:scrub',
      'controller:garbage',
    ],
    deletecollection: OPERATOR,
  },
  'coppice.dev/vms/status': {
    get: EVERYONE,
    update: ['operator', 'host', 'controller:placement'],
    patch: ['operator', 'host', 'controller:placement', 'controller:host-liveness'],
  },
  'coppice.dev/vms/exec': { create: OPERATOR },
  'coppice.dev/vms/logs': { create: OPERATOR },

  'core/namespaces': { ...operated, get: [...READERS, 'serviceaccount'], delete: OPERATOR },
  'core/namespaces/status': { get: READERS, update: OPERATOR, patch: CASCADE },
  'core/namespaces/finalize': { update: ['operator', 'controller:garbage'] },

  // Their contents are the operator's alone; whoever empties a namespace learns from its lists what there is.
  'core/configmaps': NAMESPACED,
  'core/secrets': {
    ...operated,
    get: OPERATOR,
    list: [...EMPTIERS, 'controller:informers'],
    watch: ['operator', 'controller:informers'],
    patch: [...CASCADE, 'controller:resealer'],
    delete: EMPTIERS,
    deletecollection: OPERATOR,
  },
  'core/services': { get: automated.get, list: automated.list, watch: automated.watch },
  'core/serviceaccounts': { ...operated, delete: EMPTIERS, deletecollection: OPERATOR },
  // Whoever holds a token is the account.
  'core/serviceaccounts/token': { create: OPERATOR },

  'core/events': EVENTS,
  'events.k8s.io/events': EVENTS,

  'coordination.k8s.io/leases': {
    ...automated,
    create: [...READERS, 'serviceaccount'],
    update: [...READERS, 'serviceaccount'],
    patch: [...READERS, 'serviceaccount'],
    // Servers remove their own, and those of servers that are gone.
    delete: [...EMPTIERS, 'controller:apiserver', 'controller:election', 'serviceaccount'],
    deletecollection: OPERATOR,
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

function status(duty: string): AuthorizationTable[string] {
  return { get: EVERYONE, update: ['operator', `controller:${duty}`], patch: ['operator', `controller:${duty}`] };
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
