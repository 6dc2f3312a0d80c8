import type { Verb } from '../../resources/meta/define-kind.ts';
import type { Role } from './identity.ts';

/** Which roles may use a verb on a resource. `controllers` = any duty; `controller:NAME` = that one. */
export type Allowed = readonly (Role | 'controllers')[];

/**
 * One row a resource or subresource: `group/plural` or `group/plural/sub`. A verb that a row does not name is nobody's.
 * A route without a row fails the build (test/apiserver/auth/authorization.test.ts).
 *
 * A host's rows hold only for its own Host and for VMs bound to it (`host-scope.ts`).
 */
export type AuthorizationTable = Readonly<Record<string, Readonly<Partial<Record<Verb, Allowed>>>>>;

const OPERATOR: Allowed = ['operator'];
const READERS: Allowed = ['operator', 'controllers'];
const EVERYONE: Allowed = ['operator', 'controllers', 'host'];
/** Garbage takes owner references and its own finalizers off, of whatever kind, when owners are deleted with Orphan or Foreground. */
const CASCADE: Allowed = ['operator', 'controller:garbage'];

/** Reads by operator and controllers; writes by the operator; more where a row adds it. */
const operated = { get: READERS, list: READERS, watch: READERS, create: OPERATOR, update: OPERATOR, patch: CASCADE };
const removable = { delete: OPERATOR, deletecollection: OPERATOR };

/** The duties that delete whatever is in a namespace. */
const EMPTIERS: Allowed = ['operator', 'controller:garbage', 'controller:tenant'];

/** What users keep in namespaces: the operator's, and cleaned up by the duties that empty them. */
const EMPTIED: AuthorizationTable[string] = {
  ...operated,
  delete: EMPTIERS,
  deletecollection: OPERATOR,
};

const EVENTS: AuthorizationTable[string] = {
  get: READERS,
  list: READERS,
  watch: READERS,
  create: EVERYONE,
  update: EVERYONE,
  patch: EVERYONE,
  delete: ['operator', 'controller:garbage', 'controller:tenant'],
  deletecollection: OPERATOR,
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
    update: ['operator', 'host', 'controller:host-liveness'],
    patch: ['operator', 'host', 'controller:host-liveness'],
  },
  'coppice.dev/hosts/control': { create: ['host'] },
  'coppice.dev/hosts/dialback': { create: ['host'] },

  'coppice.dev/images': { ...operated, ...removable, get: EVERYONE, list: EVERYONE, watch: EVERYONE },
  'coppice.dev/images/status': status('image'),

  'coppice.dev/policies': { ...operated, ...removable },
  'coppice.dev/policies/status': { get: READERS, update: OPERATOR, patch: OPERATOR },

  'coppice.dev/vms': {
    ...operated,
    get: EVERYONE,
    list: EVERYONE,
    watch: EVERYONE,
    update: ['operator', 'host', 'controller:placement', 'controller:vm-lifecycle'],
    patch: ['operator', 'host', 'controller:placement', 'controller:vm-lifecycle', 'controller:garbage'],
    delete: ['operator', 'controller:vm-lifecycle', 'controller:tenant', 'controller:garbage'],
    deletecollection: OPERATOR,
  },
  'coppice.dev/vms/status': {
    get: EVERYONE,
    update: ['operator', 'host', 'controller:placement'],
    patch: ['operator', 'host', 'controller:placement', 'controller:host-liveness'],
  },
  'coppice.dev/vms/exec': { create: OPERATOR },
  'coppice.dev/vms/logs': { create: OPERATOR },

  'core/namespaces': { ...operated, delete: OPERATOR },
  'core/namespaces/status': { get: READERS, update: OPERATOR, patch: CASCADE },
  'core/namespaces/finalize': { update: ['operator', 'controller:garbage'] },

  // Their contents are the operator's alone; whoever empties a namespace learns from its lists what there is.
  'core/configmaps': EMPTIED,
  'core/secrets': {
    ...EMPTIED,
    get: OPERATOR,
    list: [...EMPTIERS, 'controller:informers'],
    watch: ['operator', 'controller:informers'],
  },
  'core/serviceaccounts': EMPTIED,

  'core/events': EVENTS,
  'events.k8s.io/events': EVENTS,

  'coordination.k8s.io/leases': {
    get: READERS,
    list: READERS,
    watch: READERS,
    create: READERS,
    update: READERS,
    patch: READERS,
    delete: ['operator', 'controller:garbage', 'controller:tenant'],
    deletecollection: OPERATOR,
  },

  // Whoever defines kinds decides what the server accepts and compiles.
  'apiextensions.k8s.io/customresourcedefinitions': { ...operated, ...removable },
  'apiextensions.k8s.io/customresourcedefinitions/status': { get: READERS, update: OPERATOR, patch: OPERATOR },
};

/** Kinds that users define. */
export const USER_KIND: AuthorizationTable[string] = EMPTIED;

function status(duty: string): AuthorizationTable[string] {
  return { get: EVERYONE, update: ['operator', `controller:${duty}`], patch: ['operator', `controller:${duty}`] };
}

/** Paths that are not resources. `anonymous` ones answer without a credential. */
export const DOCUMENTS: Readonly<Record<string, 'anonymous' | 'authenticated'>> = {
  '': 'authenticated',
  api: 'authenticated',
  apis: 'authenticated',
  openapi: 'authenticated',
  version: 'anonymous',
  healthz: 'anonymous',
  livez: 'anonymous',
  readyz: 'anonymous',
};
