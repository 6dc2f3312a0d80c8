import { LEASE_SET_LABEL } from '../../resources/guards/lease-set.ts';
import { Lease } from '../../resources/kinds/lease.ts';
import type { LeaseSet } from '../../resources/kinds/lease-set.ts';
import { counted } from '../../resources/meta/counted.ts';
import { objectKey } from '../../resources/meta/object.ts';
import type { Outcome } from '../runtime/duty.ts';
import { hasReason } from '../runtime/write.ts';
import { newLeaseNames } from './lease-names.ts';
import { namesOf } from './names-of.ts';
import { ownerReferenceTo } from './owner-reference.ts';
import type { LeaseSetDeps } from './set-deps.ts';
import type { Stop } from './set-status.ts';

interface Made extends Pick<Outcome, 'again'> {
  /** For `LeaseSet.status.made`. */
  readonly made: number | undefined;
  /** Why one was refused; no more are asked for after it. */
  readonly stop?: Stop;
}

/** Makes so many Leases of a set, one after the other. One that is there already was made before, and not seen yet. */
export async function makeLeases(set: LeaseSet, count: number, deps: LeaseSetDeps, signal: AbortSignal): Promise<Made> {
  const { namespace } = set.metadata;
  const isTaken = (name: string) => {
    const key = objectKey({ name, namespace });
    return deps.leases.get(key) !== undefined || deps.written.has(key);
  };
  const leases: Lease[] = [];
  let { made } = set.status ?? {};
  try {
    for (const next of newLeaseNames(set, count, isTaken)) {
      leases.push(await make(set, next.name, deps, signal));
      made = next.made;
    }
    return { made };
  } catch (error) {
    if (hasReason(error, 'AlreadyExists')) return { made, again: true };
    const stop = refusalOf(error);
    if (stop === undefined) throw error;
    deps.events.record(set, { type: 'Warning', reason: 'FailedCreate', message: stop.message });
    return { made, stop };
  } finally {
    tell(set, leases, deps);
  }
}

function tell(set: LeaseSet, made: readonly Lease[], { events, log }: LeaseSetDeps): void {
  if (made.length === 0) return;
  const message = `made ${counted(made.length, 'lease')}: ${namesOf(made)}`;
  events.record(set, { type: 'Normal', reason: 'Made', message });
  log.info('leases made', { set: objectKey(set.metadata), leases: made.length });
}

async function make(set: LeaseSet, name: string, deps: LeaseSetDeps, signal: AbortSignal): Promise<Lease> {
  const { metadata: wished = {}, spec } = set.spec.template;
  const labels = { ...wished.labels, [LEASE_SET_LABEL]: set.metadata.name };
  const lease = await deps.client.resource<Lease>(Lease, set.metadata.namespace).create(
    {
      apiVersion: set.apiVersion,
      kind: 'Lease',
      metadata: {
        name,
        labels,
        ...(wished.annotations === undefined ? {} : { annotations: wished.annotations }),
        ownerReferences: [ownerReferenceTo(set)],
      },
      spec: withoutStamps(spec),
    },
    {},
    signal,
  );
  deps.written.wrote(lease);
  return lease;
}

/** Who accepted terms and when is the server's to write, and it has it of the set. */
function withoutStamps({ acceptedTerms, ...spec }: LeaseSet['spec']['template']['spec']): Lease['spec'] {
  if (acceptedTerms === undefined) return spec;
  const { by: _, at: __, ...terms } = acceptedTerms;
  return { ...spec, acceptedTerms: terms };
}

/** What a rule says no to stays so until something changes; all else is tried again. */
function refusalOf(error: unknown): Stop | undefined {
  if (!hasReason(error, 'Forbidden', 'Invalid')) return undefined;
  const cause = error.details?.causes?.[0]?.reason;
  if (cause === undefined) return undefined;
  return { reason: cause, message: `one more is refused: ${error.message.replace(/^.*? is forbidden: /, '')}` };
}
