import { rfc3339 } from '../ambient/clock.ts';
import type { Namespace } from '../kinds/namespace.ts';
import type { Tenant } from '../kinds/tenant.ts';
import type { AdmissionContext, CompanionWrite } from '../meta/define-kind.ts';
import { type Guard, NO_FENCES } from './guard.ts';
import { holding } from './holding.ts';
import { NAMESPACES, TENANTS } from './refs.ts';

/** Marks the namespace a tenant lives in. */
const TENANT_LABEL = 'coppice.dev/tenant';
/** Keeps a Tenant until everything of it is gone; removed by the tenant duty. */
export const TENANT_FINALIZER = 'coppice.dev/tenant';

const NAMESPACE_REF = { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace', namespaced: false } as const;

/** Admission of a Tenant: its finalizer while it lives, and who asked for it to be taken apart by force. */
export function admitTenant(draft: Tenant, previous: Tenant | undefined, { asker }: AdmissionContext): Tenant {
  const { forceDelete } = draft.spec;
  if (forceDelete === undefined) return holding(draft, TENANT_FINALIZER);
  const before = previous?.spec.forceDelete;
  const by = before?.requestedAt === forceDelete.requestedAt ? before.by : asker.user;
  const stamped = { ...forceDelete, ...(by === undefined ? {} : { by }) };
  return holding({ ...draft, spec: { ...draft.spec, forceDelete: stamped } }, TENANT_FINALIZER);
}

/**
 * Creating a Tenant makes its Namespace or adopts the one that is there; a Tenant that is being deleted takes nothing new into it, from the same moment on;
 * removing it removes the Namespace: each in one transaction.
 */
export function tenantNamespace(
  after: Tenant | undefined,
  before: Tenant | undefined,
  { world, nowMs }: AdmissionContext,
): readonly CompanionWrite[] {
  const name = (after ?? before)?.metadata.name ?? '';
  const there = world.get(NAMESPACES, undefined, name);
  if (after === undefined) return there === undefined ? [] : [write(name, undefined)];
  if (there === undefined) return [write(name, newNamespace(name, nowMs))];
  // Written also where nothing changes: it must not begin to go at the same moment.
  if (before === undefined) return [write(name, adopted(there, name))];
  const { deletionTimestamp } = after.metadata;
  if (deletionTimestamp === undefined || there.metadata.deletionTimestamp !== undefined) return [];
  return [write(name, ending(there, deletionTimestamp))];
}

const write = (name: string, object: Namespace | undefined): CompanionWrite => ({
  resource: NAMESPACE_REF,
  name,
  object,
});

function newNamespace(name: string, nowMs: number): Namespace {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {
      name,
      uid: '',
      resourceVersion: '',
      creationTimestamp: rfc3339(nowMs),
      labels: { [TENANT_LABEL]: name, 'kubernetes.io/metadata.name': name },
    },
    spec: { finalizers: [NAMESPACE_FINALIZER] },
    status: { phase: 'Active' },
  };
}

function adopted(there: Namespace, name: string): Namespace {
  return { ...there, metadata: { ...there.metadata, labels: { ...there.metadata.labels, [TENANT_LABEL]: name } } };
}

function ending(there: Namespace, deletionTimestamp: string): Namespace {
  return {
    ...there,
    metadata: { ...there.metadata, deletionTimestamp },
    status: { ...there.status, phase: 'Terminating' },
  };
}

/** The tenant that lives in a namespace, by its label. It is that tenant's end that empties the namespace, in order. */
export function tenantIn({ metadata }: Namespace): string | undefined {
  return metadata.labels?.[TENANT_LABEL] === metadata.name ? metadata.name : undefined;
}

/** A Tenant begins in a namespace that stays. */
export const stayingNamespace: Guard<Tenant> = {
  name: 'staying-namespace',
  fences: () => NO_FENCES,
  judge({ before, after }, world) {
    const name = after?.metadata.name ?? '';
    if (before !== undefined || world.get(NAMESPACES, undefined, name)?.metadata.deletionTimestamp === undefined)
      return undefined;
    const message = `namespace ${name} is being deleted; the tenant can be made once it is gone`;
    return { answer: 'Forbidden', cause: 'NamespaceTerminating', message };
  },
};

/** Keeps a Namespace until everything in it is gone; removed by the garbage duty. */
export const NAMESPACE_FINALIZER = 'kubernetes';

/** Admission of a Namespace: its name as a label, the server's finalizer beside those of a client, and its phase. */
export function admitNamespace(
  draft: Namespace,
  previous: Namespace | undefined,
  { world }: AdmissionContext,
): Namespace {
  const { name, deletionTimestamp } = draft.metadata;
  const labels: Record<string, string> = { ...draft.metadata.labels, 'kubernetes.io/metadata.name': name };
  const phase: 'Active' | 'Terminating' = deletionTimestamp === undefined ? 'Active' : 'Terminating';
  // Who empties it when it ends goes by the label, so it tells the truth from then on at least.
  if (world.get(TENANTS, undefined, name) !== undefined) labels[TENANT_LABEL] = name;
  else if (deletionTimestamp !== undefined) delete labels[TENANT_LABEL];
  const finalizers = new Set([...(draft.spec?.finalizers ?? []), NAMESPACE_FINALIZER]);
  const spec = previous === undefined ? { ...draft.spec, finalizers: [...finalizers] } : (draft.spec ?? {});
  // A new one has no past.
  const status = previous === undefined ? { phase } : { ...draft.status, phase };
  return { ...draft, metadata: { ...draft.metadata, labels }, spec, status };
}

/** `default` stays, and a namespace in which a tenant lives goes only with its Tenant. */
export const tenantOwnsNamespace: Guard<Namespace> = {
  name: 'tenant-owns-namespace',
  fences: () => NO_FENCES,
  judge({ before, after }, world) {
    const ending =
      after === undefined ||
      (before?.metadata.deletionTimestamp === undefined && after.metadata.deletionTimestamp !== undefined);
    if (before === undefined || !ending) return undefined;
    const name = before.metadata.name;
    if (name === 'default' || name === 'coppice-system') {
      return { answer: 'Forbidden', message: 'this namespace may not be deleted' };
    }
    if (world.get(TENANTS, undefined, name) === undefined) return undefined;
    return {
      answer: 'Forbidden',
      cause: 'NamespaceHasTenant',
      message: `Tenant ${name} lives in it; delete the Tenant and the namespace goes with it`,
    };
  },
};
