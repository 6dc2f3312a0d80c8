import { rfc3339 } from '../../resources/ambient/clock.ts';
import { systemClock } from '../../resources/ambient/system-clock.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import { confirm } from '../confirm.ts';
import type { Target } from '../coppice-command.ts';
import { Exit } from '../failure.ts';
import { type Io, printLine, warn } from '../io.ts';
import { conditionOf } from '../render/conditions.ts';
import { openSession } from '../session.ts';
import { tenantName } from '../tenant-ref.ts';
import { TENANTS } from '../vm-ref.ts';
import { Deadline, durationFlag } from '../wait/deadline.ts';
import { watchUntil } from '../wait/watch-until.ts';

export interface TenantDeleteOptions {
  readonly words: readonly string[];
  readonly force: boolean;
  readonly yes: boolean;
  readonly wait: boolean;
  readonly timeout: string;
}

/** Deletes a tenant with all it has and, unless told not to, waits until it is gone; in time or not, it says what it waits for. */
export async function deleteTenant(io: Io, target: Target, options: TenantDeleteOptions): Promise<void> {
  const timeoutMs = durationFlag('timeout', options.timeout);
  const name = tenantName(options.words, 'tenant delete');
  const { force } = options;
  if (!options.yes) {
    const leases = force ? 'its leases end now, whatever their minimum' : 'its leases end as soon as they may';
    const volumes = force ? ', and its volumes are lost' : '';
    await confirm(io, {
      tells: `this deletes tenant ${name} with all its VMs and everything in its namespace; ${leases}${volumes}`,
      asks: `Delete tenant ${name} with all its VMs and everything in its namespace (${leases}${volumes})?`,
      undone: 'nothing was deleted',
    });
  }
  await using session = await openSession(io, target);
  const tenants = session.client.resource<KubeObject>(TENANTS);
  const forceDelete = { requestedAt: rfc3339(systemClock.now()) };
  if (force) await tenants.patch(name, { spec: { forceDelete } }, { fieldManager: 'coppice' }, io.signal);
  const { uid } = (await tenants.get(name, io.signal)).metadata;
  await tenants.delete(name, { preconditions: { uid } }, io.signal);
  if (!options.wait) return printLine(io, `tenant.coppice.dev/${name} is being deleted`);
  using deadline = new Deadline(io.signal, timeoutMs);
  let last: KubeObject | undefined;
  try {
    const gone = (tenant: KubeObject | undefined) => tenant === undefined || tenant.metadata.uid !== uid;
    await watchUntil(tenants, name, gone, deadline.signal, (seen) => {
      last = seen;
    });
    printLine(io, `tenant.coppice.dev/${name} deleted`);
  } catch (error) {
    if (!deadline.passed) throw error;
    warn(io, `error: tenant ${name} is not gone within ${options.timeout}; it goes on by itself`);
    const ready = conditionOf(last, 'Ready');
    if (ready?.reason === 'Deleting') warn(io, `hint: it ${ready.message}`);
    throw new Exit(1);
  }
}
