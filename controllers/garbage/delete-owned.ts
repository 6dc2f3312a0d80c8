import type { ApiClient } from '../../apiserver/client/client.ts';
import { Lease } from '../../resources/kinds/lease.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import { resourceId } from '../../resources/meta/resource-id.ts';
import type { EventRecorder } from '../runtime/events.ts';
import { deleteThis, hasReason, orGone } from '../runtime/write.ts';
import type { Found } from './owned-objects.ts';

/** How soon what may not go is asked again, in milliseconds. */
export const REFUSED_AGAIN_MS = 60_000;

interface DeleteDeps {
  readonly client: ApiClient;
  readonly recorder: EventRecorder;
}

/**
 * Deletes an object because of its owners. Answers false when a rule keeps it: the object says so in an Event, and whoever asked asks again later. A Lease whose
 * minimum is not over is nobody's from then on, ends when it is over, and stays as a record: `owners` are the uids that it is let go by.
 */
export async function deleteOwned(
  found: Found,
  owners: readonly string[],
  { client, recorder }: DeleteDeps,
  signal: AbortSignal,
  propagationPolicy?: 'Foreground',
): Promise<boolean> {
  const { ref, object } = found;
  try {
    await deleteThis(client.resource<KubeObject>(ref, object.metadata.namespace), object, signal, propagationPolicy);
    return true;
  } catch (error) {
    // A rule keeps it as it is now, or nobody but an operator may: either way it is no failure, and asking at once again changes nothing.
    if (!hasReason(error, 'Forbidden')) throw error;
    if (error.details?.causes?.[0]?.reason === 'MinimumTerm' && resourceId(ref) === resourceId(Lease)) {
      await releaseInTime(object, owners, { client, recorder }, signal);
      return true;
    }
    const message = `its owner is gone, but it stays: ${error.message.replace(/^.*? is forbidden: /, '')}`;
    recorder.record(object, { type: 'Warning', reason: 'FailedDelete', message });
    return false;
  }
}

async function releaseInTime(
  { metadata: { name, namespace, uid } }: KubeObject,
  owners: readonly string[],
  { client, recorder }: DeleteDeps,
  signal: AbortSignal,
): Promise<void> {
  const leases = client.resource<Lease>(Lease, namespace);
  // What is known here of objects is who they are.
  const lease = await orGone(leases.get(name, signal));
  if (lease === undefined || lease.metadata.uid !== uid) return;
  const { resourceVersion, ownerReferences = [] } = lease.metadata;
  const kept = ownerReferences.filter((owner) => !owners.includes(owner.uid));
  const metadata = { resourceVersion, ownerReferences: kept };
  const at = lease.status?.earliestEnd;
  await orGone(
    leases.patch(name, { metadata, ...(endsInTime(lease) ? {} : { spec: { release: { at } } }) }, {}, signal),
  );
  const message = `its owner is gone: it is nobody's, and ends at ${at}, when its minimum is over`;
  recorder.record(lease, { type: 'Normal', reason: 'ReleasedAtMinimum', message });
}

/** It ends as soon as it may already. */
function endsInTime({ status = {} }: Lease): boolean {
  const { endsAt, earliestEnd } = status;
  return endsAt !== undefined && earliestEnd !== undefined && Date.parse(endsAt) <= Date.parse(earliestEnd);
}
