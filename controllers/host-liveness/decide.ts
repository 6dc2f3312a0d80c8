import { rfc3339 } from '../../resources/ambient/clock.ts';
import { isDraining } from '../../resources/guards/host-drain.ts';
import { waitsForScrub } from '../../resources/guards/host-scrub.ts';
import type { CoordinationLease } from '../../resources/kinds/coordination-lease.ts';
import type { Host } from '../../resources/kinds/host.ts';
import { type Condition, findCondition, setConditions } from '../../resources/meta/condition.ts';
import { HOST_LEASE_RENEWAL_MS } from '../../resources/streams/control-messages.ts';

/** How long a host may be silent before it is said to be. */
export const GRACE_MS = 40_000;

/** The condition that says whether the host's driver works; the nodelet owns it. */
const DRIVER_READY = 'DriverReady';

const NODELET_SILENT = 'NodeletSilent';

/** Whether a host was judged silent; not so one that is new and may still be heard. */
export function isSilent(host: Host): boolean {
  return findCondition(host, 'Ready')?.reason === NODELET_SILENT;
}

/** What has been seen of a host's coordination Lease. All instants are on this process's own monotonic clock, so no two clocks are compared. */
export interface Sighting {
  /** When holder or renewal last changed before our eyes, or when we first looked. */
  readonly atMs: number;
  /** Whether anything changed since we first looked: a renewal we saw ourselves proves life whatever the clocks say. */
  readonly moved: boolean;
  readonly lease: CoordinationLease | undefined;
}

/** Whether a nodelet is there. `silent`: judged so. `unsure`: not heard, but not long enough to say; until `againInMs`. */
type Verdict =
  | { readonly is: 'alive'; readonly againInMs: number }
  | { readonly is: 'unsure'; readonly againInMs: number }
  | { readonly is: 'silent' };

/** Judges one host. `nowMs` is monotonic, `wallMs` is wall time. */
export function judge(sighting: Sighting, nowMs: number, wallMs: number): Verdict {
  const { lease, atMs, moved } = sighting;
  const held = (lease?.spec?.holderIdentity ?? '') !== '';
  const renewedMs = Date.parse(lease?.spec?.renewTime ?? '');
  const fresh = held && (moved || wallMs - renewedMs <= HOST_LEASE_RENEWAL_MS + GRACE_MS);
  const silentFromMs = fresh ? atMs + HOST_LEASE_RENEWAL_MS : atMs;
  if (fresh && nowMs < silentFromMs) return { is: 'alive', againInMs: silentFromMs - nowMs };
  const judgedAtMs = silentFromMs + GRACE_MS;
  return nowMs < judgedAtMs ? { is: 'unsure', againInMs: judgedAtMs - nowMs } : { is: 'silent' };
}

type Wanted = Omit<Condition, 'lastTransitionTime' | 'observedGeneration'>;

/** The conditions of a host as they should be. An unsure verdict changes nothing that was said before. */
export function hostConditions(
  host: Host,
  verdict: Verdict['is'],
  lease: CoordinationLease | undefined,
  nowMs: number,
): Condition[] {
  const ready = readyCondition(host, verdict, lease);
  return setConditions(host, nowMs, [ready, schedulableCondition(host, ready)]);
}

function readyCondition(host: Host, verdict: Verdict['is'], lease: CoordinationLease | undefined): Wanted {
  const type = 'Ready';
  if (verdict === 'silent') {
    const since = lease?.spec?.renewTime;
    const heard =
      since === undefined || since === null
        ? 'never heard from its nodelet'
        : `last heard from its nodelet at ${rfc3339(Date.parse(since))}`;
    return { type, status: 'Unknown', reason: NODELET_SILENT, message: heard };
  }
  if (verdict === 'unsure') {
    const said = findCondition(host, type);
    if (said !== undefined) return { type, status: said.status, reason: said.reason, message: said.message };
    return { type, status: 'Unknown', reason: 'NodeletUnheard', message: 'waits to hear from its nodelet' };
  }
  const driver = findCondition(host, DRIVER_READY);
  if (driver?.status === 'True') {
    return { type, status: 'True', reason: 'NodeletReady', message: 'its nodelet is connected and its driver works' };
  }
  return {
    type,
    status: 'False',
    reason: driver?.reason ?? 'DriverUnknown',
    message: driver?.message ?? 'its nodelet has not said yet whether its driver works',
  };
}

function schedulableCondition(host: Host, ready: Wanted): Wanted {
  const type = 'Schedulable';
  if (ready.status !== 'True')
    return { type, status: 'False', reason: 'NotReady', message: `the host is not ready: ${ready.message}` };
  if (isDraining(host)) return { type, status: 'False', ...drainTold(host) };
  if (host.spec.cordoned === true) {
    return {
      type,
      status: 'False',
      reason: 'Cordoned',
      message: 'spec.cordoned is set: VMs here stay, new ones go elsewhere',
    };
  }
  if (waitsForScrub(host)) {
    const { reason, message: why } = findCondition(host, 'ScrubPending') ?? {};
    const remains = reason === 'VolumesRemain' ? `; ${why}` : '';
    const message = `it waits for a scrub and takes no VM and no lease before it: coppice scrub ${host.metadata.name}${remains}`;
    return { type, status: 'False', reason: 'ScrubPending', message };
  }
  const lease = host.status?.lease;
  if (lease === undefined) return { type, status: 'True', reason: 'Open', message: 'takes new VMs' };
  if (lease.ending === true)
    return { type, status: 'False', reason: 'LeaseEnding', message: `the lease of ${lease.namespace} is over` };
  const [reason, what] = lease.released === true ? ['Held', 'held for'] : ['Leased', 'leased to'];
  const until = lease.earliestEnd === undefined ? '' : `, until ${lease.earliestEnd} at least`;
  return { type, status: 'True', reason, message: `is ${what} ${lease.namespace}${until}, and takes its VMs` };
}

/** Being emptied, or as empty as was asked. */
function drainTold({ metadata, spec, status }: Host): { readonly reason: string; readonly message: string } {
  const drained = status?.conditions?.find(({ type }) => type === 'Drained');
  const done = drained?.status === 'True' && status?.drain?.mode === spec.drain?.mode;
  const end = `to have it take VMs again: coppice uncordon ${metadata.name}`;
  return done
    ? { reason: 'Drained', message: `it is drained; ${end}` }
    : { reason: 'Draining', message: `it is being drained, and takes no VM and no lease; ${end}` };
}
