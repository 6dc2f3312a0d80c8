import { HOSTS, VMS } from '../guards/refs.ts';
import type { Tenant } from '../kinds/tenant.ts';
import type { VM } from '../kinds/vm.ts';
import { firstOf } from '../meta/first-of.ts';
import { parseBytes, roughBytes } from '../meta/quantity.ts';
import { vmName } from './guest-facts.ts';
import { type Held, heldBeyond, heldOfQuota, sumOf } from './holdings.ts';
import type { Finding, Invariant, Step } from './invariant.ts';
import { changesOf, vmChangesOf } from './step-changes.ts';

type Quota = NonNullable<Tenant['spec']['quota']>;

/** One limit: what there is of it, and who came to have more of it in this step. */
interface Count {
  readonly limit: string;
  readonly max: number | undefined;
  readonly used: number;
  readonly takers: readonly string[];
  readonly show: (amount: number) => string;
}

/** Judged when something comes to hold more. A quota may be set to less than is held: nothing is taken away for it. */
export const withinQuota: Invariant = {
  name: 'within-quota',
  sentence: 'A tenant holds no more than its quota, or the default one where it has none.',

  *subjects(step) {
    for (const { before, after } of changesOf(step, VMS)) yield (after ?? before)?.metadata.namespace ?? '';
    for (const { before, after } of changesOf(step, HOSTS)) {
      for (const host of [before, after]) if (host?.status?.lease !== undefined) yield host.status.lease.namespace;
    }
  },

  findings(namespace, step) {
    return [...countsOf(namespace, step)]
      .filter(({ max, used, takers }) => max !== undefined && used > max && takers.length > 0)
      .map((count) => found(namespace, count, step.first));
  },
};

function* countsOf(namespace: string, step: Step): Iterable<Count> {
  const { state } = step;
  const quota: Quota = { ...state.policy()?.spec.defaultQuota, ...state.tenant(namespace)?.spec.quota };
  // Of a team of thousands only what gives some of them more is worth counting.
  let held: Held | undefined;
  for (const [limit, field, max, show] of [
    ['maxVMs', 'vms', quota.maxVMs, String],
    ['maxVCPUs', 'vcpus', quota.maxVCPUs, String],
    ['maxMemory', 'memoryBytes', quota.maxMemory === undefined ? undefined : parseBytes(quota.maxMemory), roughBytes],
  ] as const) {
    const takers = vmChangesOf(step, namespace).flatMap(({ before, after }) =>
      after?.metadata.namespace === namespace && heldNow(after, step)[field] > heldOfQuota(before)[field]
        ? [vmName(after)]
        : [],
    );
    if (takers.length === 0) continue;
    held ??= sumOf(state.vmsOf(namespace).map((vm) => heldNow(vm, step)));
    yield { limit, max, used: held[field], takers, show };
  }
  const leased = changesOf(step, HOSTS).flatMap(({ key, before, after }) =>
    after?.status?.lease?.namespace === namespace && before?.status?.lease?.namespace !== namespace
      ? [`host/${key}`]
      : [],
  );
  if (leased.length === 0) return;
  const used = state.hostsLeasedTo(namespace).length;
  yield { limit: 'maxLeasedHosts', max: quota.maxLeasedHosts, used, takers: leased, show: String };
}

/** Without what the VM that it stands in for holds already. */
function heldNow(vm: VM, { state }: Step): Held {
  const { standsInFor } = vm.spec;
  if (standsInFor === undefined) return heldOfQuota(vm);
  const original = state.vm(`${vm.metadata.namespace}/${standsInFor.name}`);
  return heldBeyond(vm, original?.metadata.uid === standsInFor.uid ? original : undefined);
}

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
