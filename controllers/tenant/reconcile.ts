import type { ApiClient } from '../../apiserver/client/client.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import { TENANT_FINALIZER } from '../../resources/guards/tenant-namespace.ts';
import type { Host } from '../../resources/kinds/host.ts';
import { Tenant } from '../../resources/kinds/tenant.ts';
import { VM } from '../../resources/kinds/vm.ts';
import type { CacheView, IndexView } from '../runtime/cache.ts';
import type { Outcome } from '../runtime/duty.ts';
import { releaseFinalizer } from '../runtime/finalizer.ts';
import { deleteAll, describeRemaining, emptyNamespace } from '../runtime/namespace-contents.ts';
import { writeStatus } from '../runtime/write.ts';
import { leavingStatus, livingStatus, nextStep, waitsForVMs } from './decide.ts';
import type { NetworkNumbers } from './network-numbers.ts';

/** How soon to look again at contents that nothing watches, in milliseconds. */
const LOOK_AGAIN_MS = 1_000;

export interface TenantDeps {
  readonly client: ApiClient;
  readonly tenants: CacheView<Tenant>;
  readonly vmsByNamespace: IndexView<VM>;
  readonly hostsByLessee: IndexView<Host>;
  readonly networks: NetworkNumbers;
  readonly clock: Clock;
  readonly log: Logger;
}

export async function reconcile(key: string, deps: TenantDeps, signal: AbortSignal): Promise<Outcome> {
  const tenant = deps.tenants.get(key);
  if (tenant === undefined) return {};
  const { client, clock, networks, log } = deps;
  const tenants = client.resource<Tenant>(Tenant);
  const namespace = tenant.metadata.name;
  const vms = deps.vmsByNamespace.get(namespace);
  const holdings = { vms, leasedHosts: deps.hostsByLessee.count(namespace) };
  const step = nextStep(tenant, vms);
  switch (step) {
    case 'gone':
      return {};
    case 'live': {
      const status = livingStatus(tenant, holdings, networks.takenFromOthers(tenant.metadata.uid), clock.now());
      if (status.networkIndex !== undefined) networks.given(tenant.metadata.uid, status.networkIndex);
      await writeStatus(tenants, tenant, status, signal);
      return {};
    }
    case 'remove-vms': {
      await writeStatus(tenants, tenant, leavingStatus(tenant, holdings, waitsForVMs(vms), clock.now()), signal);
      await deleteAll(client.resource<VM>(VM, namespace), vms, signal);
      return {};
    }
    case 'remove-contents': {
      const remaining = await emptyNamespace(client, namespace, signal);
      if (remaining.length > 0) {
        const waitsFor = `waits until these are gone: ${describeRemaining(remaining)}`;
        await writeStatus(tenants, tenant, leavingStatus(tenant, holdings, waitsFor, clock.now()), signal);
        return { requeueAfterMs: LOOK_AGAIN_MS };
      }
      await releaseFinalizer(tenants, tenant, TENANT_FINALIZER, signal);
      log.info('tenant removed', { tenant: namespace });
      return {};
    }
    default:
      throw new Error(`unhandled step ${step satisfies never}`);
  }
}
