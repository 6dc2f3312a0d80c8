import { HOSTS, POLICIES, TENANTS, VMS, VOLUMES } from '../guards/refs.ts';
import type { Tenant } from '../kinds/tenant.ts';
import type { VM } from '../kinds/vm.ts';
import type { Volume } from '../kinds/volume.ts';
import { firstOf } from '../meta/first-of.ts';
import { entry } from '../meta/map-entry.ts';
import { parseBytes, roughBytes } from '../meta/quantity.ts';
import { vmName } from './guest-facts.ts';
import { type Held, heldOfQuota, heldTogether, sumOf } from './holdings.ts';
import type { Finding, Invariant, Step } from './invariant.ts';
import { changesOf, vmChangesOf } from './step-changes.ts';
import { isDataLost, nameOfVolume } from './volume-facts.ts';

type Quota = NonNullable<Tenant['spec']['quota']>;

/** One limit: what there is of it, and who came to have more of it in this step. */
interface Count {
  readonly limit: string;
  readonly max: number | undefined;
  readonly used: number;
  readonly takers: readonly string[];
  readonly show: (amount: number) => string;
}

/** How long members of pools may be there, in milliseconds, while their namespace has more than its quota. */
const GIVES_WAY_MS = 60_000;

/**
 * Judged when something comes to hold more. A quota may be set to less than is held: nothing but members of pools is taken away for it. These go whatever the
 * excess comes from, so none of them may last.
 */
export const withinQuota: Invariant = {
  name: 'within-quota',
  sentence: 'A tenant holds no more than its quota, or the default one where it has none.',

  *subjects(step) {
    for (const { before, after } of changesOf(step, VMS)) yield (after ?? before)?.metadata.namespace ?? '';
    for (const { after } of changesOf(step, VOLUMES)) if (after !== undefined) yield after.metadata.namespace ?? '';
    for (const { before, after } of changesOf(step, HOSTS)) {
      for (const host of [before, after]) if (host?.status?.lease !== undefined) yield host.status.lease.namespace;
    }
    for (const { key } of changesOf(step, TENANTS)) yield key;
    if (changesOf(step, POLICIES).length === 0) return;
    for (const { metadata } of step.state.tenants()) yield metadata.name;
  },

  findings(namespace, step) {
    const taken = [...countsOf(namespace, step)]
      .filter(({ max, used, takers }) => max !== undefined && used > max && takers.length > 0)
      .map((count) => found(namespace, count, step.first));
    return [...taken, ...membersThatStay(namespace, step)];
  },
};

function* countsOf(namespace: string, step: Step): Iterable<Count> {
  const { state } = step;
  const quota = quotaOf(namespace, step);
  // Of a team of thousands only what gives some of them more is worth counting.
  let held: Held | undefined;
  for (const [limit, field, max, show] of limitsOf(quota)) {
    const grown = vmChangesOf(step, namespace).flatMap(({ before, after }) =>
      after?.metadata.namespace === namespace && heldOfQuota(after)[field] > heldOfQuota(before)[field]
        ? [{ vm: after, isNew: before?.spec.resolved === undefined }]
        : [],
    );
    if (grown.length === 0) continue;
    const vms = state.vmsOf(namespace);
    const moves = movesAmong(vms);
    const takers = grown.filter(({ vm }) => heldOfQuota(vm)[field] > heldByOthers(vm, moves)[field]);
    if (takers.length === 0) continue;
    held ??= heldTogether(vms);
    // What is kept warm for a VM that is new makes room for it.
    const without = (vm: VM) => sumOf(vms.filter((other) => givesWay(other, vm)).map(heldOfQuota))[field];
    const over = (used: number) => max !== undefined && used > max;
    for (const { vm, isNew } of takers) {
      const used = over(held[field]) && isNew ? held[field] - without(vm) : held[field];
      yield { limit, max, used, takers: [vmName(vm)], show };
    }
  }
  yield* volumeCounts(namespace, quota, step);
  const leased = changesOf(step, HOSTS).flatMap(({ key, before, after }) =>
    after?.status?.lease?.namespace === namespace && before?.status?.lease?.namespace !== namespace
      ? [`host/${key}`]
      : [],
  );
  if (leased.length === 0) return;
  const used = state.hostsLeasedTo(namespace).length;
  yield { limit: 'maxLeasedHosts', max: quota.maxLeasedHosts, used, takers: leased, show: String };
}

const quotaOf = (namespace: string, { state }: Step): Quota => ({
  ...state.policy()?.spec.defaultQuota,
  ...state.tenant(namespace)?.spec.quota,
});

const limitsOf = (quota: Quota) =>
  [
    ['maxVMs', 'vms', quota.maxVMs, String],
    ['maxVCPUs', 'vcpus', quota.maxVCPUs, String],
    ['maxMemory', 'memoryBytes', quota.maxMemory === undefined ? undefined : parseBytes(quota.maxMemory), roughBytes],
  ] as const;

/** Those that are being deleted have given way, whatever they hold still. */
function* membersThatStay(namespace: string, step: Step): Iterable<Finding> {
  const { state } = step;
  const isGoing = ({ metadata, spec }: VM) => spec.claimable === true && metadata.deletionTimestamp !== undefined;
  const staying = state.membersOf(namespace).filter((member) => !isGoing(member));
  if (staying.length === 0) return;
  const limits = limitsOf(quotaOf(namespace, step)).filter(([, , max]) => max !== undefined);
  if (limits.length === 0) return;
  const held = heldTogether(state.vmsOf(namespace).filter((vm) => !isGoing(vm)));
  for (const [limit, field, max = 0, show] of limits) {
    const members = staying.filter((member) => heldOfQuota(member)[field] > 0).map(vmName);
    if (held[field] <= max || members.length === 0) continue;
    yield {
      key: `${limit} stays`,
      message: `tenant ${namespace} holds ${show(held[field])} of ${limit} ${show(max)}, and these do not give way: ${firstOf(members, 5)}`,
      objects: [`tenant/${namespace}`, ...members],
      tolerated: { ms: GIVES_WAY_MS },
    };
  }
}

/** Whether one is a member of a pool whose guest the other could take. */
function givesWay(member: VM, vm: VM): boolean {
  const [is, wanted] = [member.spec.resolved, vm.spec.resolved];
  if (member.spec.claimable !== true || vm.spec.claimable === true || vm.spec.power !== 'Running') return false;
  if (member.metadata.deletionTimestamp !== undefined || is === undefined || wanted === undefined) return false;
  return is.digest === wanted.digest && is.vcpus === wanted.vcpus && member.spec.class === vm.spec.class;
}

/** VMs that are stood in for, with all that stand in for them, by the uid of the VM. */
type Moves = ReadonlyMap<string, readonly VM[]>;

function movesAmong(vms: readonly VM[]): Moves {
  const moves = new Map<string, VM[]>();
  for (const vm of vms) {
    if (vm.spec.standsInFor !== undefined) entry(moves, vm.spec.standsInFor.uid, (): VM[] => []).push(vm);
  }
  if (moves.size > 0) for (const vm of vms) moves.get(vm.metadata.uid)?.push(vm);
  return moves;
}

/** What is held already by those that count once together with a VM. */
function heldByOthers({ metadata, spec }: VM, moves: Moves): Held {
  const together = moves.get(spec.standsInFor?.uid ?? metadata.uid) ?? [];
  return heldTogether(together.filter((other) => other.metadata.uid !== metadata.uid));
}

/** Of volumes that were made before their tenant was, only those that have a host count: they are given one as the quota allows. */
function* volumeCounts(namespace: string, quota: Quota, step: Step): Iterable<Count> {
  const max = quota.maxVolumeSize === undefined ? undefined : parseBytes(quota.maxVolumeSize);
  const isBound = ({ spec }: Volume) => spec.hostName !== undefined;
  const takers = changesOf(step, VOLUMES).flatMap(({ before, after }) => {
    if (after?.metadata.namespace !== namespace || !isBound(after) || isDataLost(after)) return [];
    const had = before !== undefined && isBound(before) ? bytesOf(before) : 0;
    return bytesOf(after) > had ? [nameOfVolume(after)] : [];
  });
  if (takers.length === 0) return;
  const held = step.state.volumesOf(namespace).filter((volume) => isBound(volume) && !isDataLost(volume));
  const used = held.reduce((sum, volume) => sum + bytesOf(volume), 0);
  yield { limit: 'maxVolumeSize', max, used, takers, show: roughBytes };
}

const bytesOf = ({ spec }: Volume): number => parseBytes(spec.size) ?? 0;

function found(namespace: string, { limit, max = 0, used, takers, show }: Count, standing: boolean): Finding {
  const some = firstOf(takers, 5);
  return {
    key: limit,
    message: standing
      ? `tenant ${namespace} holds ${show(used)} of ${limit} ${show(max)}`
      : `tenant ${namespace} holds ${show(used)} of ${limit} ${show(max)} since ${some}`,
    objects: [`tenant/${namespace}`, ...takers],
    ...(standing ? { standing } : {}),
  };
}
