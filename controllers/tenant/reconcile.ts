import type { ApiClient } from '../../apiserver/client/client.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import { NAMESPACE_FINALIZER, TENANT_FINALIZER } from '../../resources/guards/tenant-namespace.ts';
import type { Host } from '../../resources/kinds/host.ts';
import { Lease } from '../../resources/kinds/lease.ts';
import { Namespace } from '../../resources/kinds/namespace.ts';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { Volume } from '../../resources/kinds/volume.ts';
import { findCondition } from '../../resources/meta/condition.ts';
import type { CacheView, IndexView } from '../runtime/cache.ts';
import type { Outcome } from '../runtime/duty.ts';
import type { EventRecorder } from '../runtime/events.ts';
import { releaseFinalizer } from '../runtime/finalizer.ts';
import { deleteAll, describeRemaining, emptyNamespace } from '../runtime/namespace-contents.ts';
import { orGone, writeStatus } from '../runtime/write.ts';
import { type Holdings, leavingStatus, livingStatus } from './decide.ts';
import { decideEnd, type End } from './decide-end.ts';
import type { NetworkNumbers } from './network-numbers.ts';

/** How soon to look again at contents that nothing watches, in milliseconds. */
const LOOK_AGAIN_MS = 1_000;

export interface TenantDeps {
  readonly client: ApiClient;
  readonly tenants: CacheView<Tenant>;
  readonly vmsByNamespace: IndexView<VM>;
  readonly leasesByNamespace: IndexView<Lease>;
  readonly volumesByNamespace: IndexView<Volume>;
  readonly hostsByLessee: IndexView<Host>;
  readonly networks: NetworkNumbers;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly clock: Clock;
  readonly log: Logger;
}

export async function reconcile(key: string, deps: TenantDeps, signal: AbortSignal): Promise<Outcome> {
  const tenant = deps.tenants.get(key);
  if (tenant === undefined) return {};
  const { client, clock, networks } = deps;
  const tenants = client.resource<Tenant>(Tenant);
  const namespace = tenant.metadata.name;
  const holdings: Holdings = {
    vms: deps.vmsByNamespace.get(namespace),
    leases: deps.leasesByNamespace.get(namespace),
    volumes: deps.volumesByNamespace.get(namespace),
    hosts: deps.hostsByLessee.get(namespace),
  };
  const end = decideEnd(tenant, holdings, clock.now());
  switch (end.kind) {
    case 'gone':
      return {};
    case 'live': {
      const status = livingStatus(tenant, holdings, networks.takenFromOthers(tenant.metadata.uid), clock.now());
      if (status.networkIndex !== undefined) networks.given(tenant.metadata.uid, status.networkIndex);
      await writeStatus(tenants, tenant, status, signal);
      return {};
    }
    case 'wait':
      await tellLeaving(tenant, holdings, end.waitsFor, deps, signal);
      await takeApart(namespace, end, client, signal);
      return {};
    case 'remove-contents':
      return removeContents(tenant, holdings, deps, signal);
    default:
      throw new Error(`unhandled end ${end satisfies never}`);
  }
}

/** Another thing that is waited for is an event, but not each one less of the same. */
async function tellLeaving(
  tenant: Tenant,
  holdings: Holdings,
  waitsFor: string,
  { client, clock, events }: TenantDeps,
  signal: AbortSignal,
): Promise<void> {
  const status = leavingStatus(tenant, holdings, waitsFor, clock.now());
  const written = await writeStatus(client.resource<Tenant>(Tenant), tenant, status, signal);
  const before = findCondition(tenant, 'Ready');
  const same = before?.reason === 'Deleting' && kindsIn(before.message) === kindsIn(waitsFor);
  if (written === undefined || same) return;
  events.record(written, { type: 'Normal', reason: 'Deleting', message: waitsFor });
}

/** What is waited for without how many, and which. */
const kindsIn = (waitsFor: string): string => waitsFor.replaceAll(/: [^;]*/g, '').replaceAll(/\d+|(?<=\w)s\b/g, '');

/** VMs first, since their guests hold Macs. */
async function takeApart(
  namespace: string,
  { vms, unwanted, volumes, releases }: Extract<End, { kind: 'wait' }>,
  client: ApiClient,
  signal: AbortSignal,
): Promise<void> {
  await deleteAll(client.resource<VM>(VM, namespace), vms, signal);
  const leases = client.resource<Lease>(Lease, namespace);
  await deleteAll(leases, unwanted, signal);
  await deleteAll(client.resource<Volume>(Volume, namespace), volumes, signal);
  for (const { lease, release } of releases) {
    const { name, resourceVersion } = lease.metadata;
    // Whole, for a later instant that was asked for must not stay beside it.
    const whole = { at: null, force: null, ...release };
    await orGone(leases.patch(name, { metadata: { resourceVersion }, spec: { release: whole } }, {}, signal));
  }
}

async function removeContents(
  tenant: Tenant,
  holdings: Holdings,
  deps: TenantDeps,
  signal: AbortSignal,
): Promise<Outcome> {
  const { client, log } = deps;
  const tenants = client.resource<Tenant>(Tenant);
  const namespace = tenant.metadata.name;
  const remaining = await emptyNamespace(client, namespace, signal);
  const held = remaining.length > 0 ? [] : await otherFinalizers(client, namespace, signal);
  if (remaining.length > 0 || held.length > 0) {
    const waitsFor =
      remaining.length > 0
        ? `waits until these are gone: ${describeRemaining(remaining)}`
        : `waits until others let its namespace go: ${held.join(', ')}`;
    await tellLeaving(tenant, holdings, waitsFor, deps, signal);
    return { requeueAfterMs: LOOK_AGAIN_MS };
  }
  await releaseFinalizer(tenants, tenant, TENANT_FINALIZER, signal);
  log.info('tenant removed', { tenant: namespace });
  return {};
}

/** The finalizers that others put on a namespace: one that was there before the tenant may have some. */
async function otherFinalizers(client: ApiClient, name: string, signal: AbortSignal): Promise<readonly string[]> {
  const namespace = await orGone(client.resource<Namespace>(Namespace).get(name, signal));
  const all = [...(namespace?.spec?.finalizers ?? []), ...(namespace?.metadata.finalizers ?? [])];
  return all.filter((finalizer) => finalizer !== NAMESPACE_FINALIZER);
}
