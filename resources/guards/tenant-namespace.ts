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

export function admitTenant(draft: Tenant): Tenant {
  return holding(draft, TENANT_FINALIZER);
}

/** Creating a Tenant makes its Namespace or adopts the one that is there; removing it removes the Namespace: in one transaction. */
export function tenantNamespace(
  after: Tenant | undefined,
  before: Tenant | undefined,
  { world, nowMs }: AdmissionContext,
): readonly CompanionWrite[] {
  const name = (after ?? before)?.metadata.name ?? '';
  const there = world.get(NAMESPACES, undefined, name);
  if (after === undefined) return there === undefined ? [] : [write(name, undefined)];
  if (there?.metadata.labels?.[TENANT_LABEL] === name) return [];
  if (before !== undefined && there !== undefined) return [];
  return [write(name, there === undefined ? newNamespace(name, nowMs) : adopted(there, name))];
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

/** Keeps a Namespace until everything in it is gone; removed by the garbage duty. */
export const NAMESPACE_FINALIZER = 'kubernetes';

/** Admission of a Namespace: its name as a label, the server's finalizer beside those of a client, and its phase. */
export function admitNamespace(draft: Namespace, previous: Namespace | undefined): Namespace {
  const labels = { ...draft.metadata.labels, 'kubernetes.io/metadata.name': draft.metadata.name };
  const phase: 'Active' | 'Terminating' = draft.metadata.deletionTimestamp === undefined ? 'Active' : 'Terminating';
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
