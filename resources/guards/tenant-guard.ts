import type { Tenant } from '../kinds/tenant.ts';
import type { VM } from '../kinds/vm.ts';
import { jsonEqual } from '../meta/object.ts';
import { parseBytes, roughBytes } from '../meta/quantity.ts';
import { type Change, fence, type Guard, NO_FENCES, type Refusal } from './guard.ts';
import { isMadeFor, wantsWarmGuest } from './pool-members.ts';
import { POLICIES, TENANTS, VMS } from './refs.ts';
import { mostOf, type QuotaAmounts, type TenantShare, tenantShareOf } from './shares.ts';
import { originalOf } from './stand-in.ts';
import type { WorldView } from './world.ts';

/** The quota of a tenant: its own, or the policy's default; a limit that neither sets does not exist. */
export function quotaOf(tenant: Tenant | undefined, world: WorldView): Quota {
  return { ...world.get(POLICIES, undefined, 'default')?.spec.defaultQuota, ...tenant?.spec.quota };
}

/**
 * Quota: judged when a VM is admitted, and when it comes to hold more than it did. VMs that nothing limits need not wait for each other; whoever sets a limit
 * moves the fence.
 */
export const vmQuota = {
  name: 'quota',
  fences(change, world) {
    if (!grows(change) && !bearsLess(change)) return NO_FENCES;
    const namespace = (change.after ?? change.before)?.metadata.namespace ?? '';
    const tenant = fence.tenant(namespace);
    return isLimited(limitsIn(namespace, world))
      ? { bump: [tenant], compare: [fence.policy] }
      : { bump: [], compare: [tenant, fence.policy] };
  },
  judge(change, world) {
    if (!grows(change) || change.after === undefined) return undefined;
    const refusal = exceeded(change, world, NOTHING);
    if (refusal === undefined || !isAdmitted(change)) return refusal;
    // What is kept warm for VMs like this one makes room for it: it is taken over, or its pool lets it go.
    const spare = spareFor(change.after, world);
    return spare.vms === 0 ? refusal : exceeded(change, world, spare);
  },
} satisfies Guard<VM>;

type Quota = NonNullable<Tenant['spec']['quota']>;

const limitsIn = (namespace: string, world: WorldView): Quota =>
  quotaOf(world.get(TENANTS, undefined, namespace), world);

/** Whether there is anything of VMs to be counted. */
function isLimited({ maxVMs, maxVCPUs, maxMemory }: Quota): boolean {
  return maxVMs !== undefined || maxVCPUs !== undefined || maxMemory !== undefined;
}

/** Whether the change is what makes a VM count: all later ones are about a guest of its own. */
function isAdmitted({ before, after }: Change<VM>): boolean {
  return before?.spec.resolved === undefined && after?.spec.resolved !== undefined;
}

/** What the members of pools hold that a VM could take the guest of. */
function spareFor(vm: VM, world: WorldView): QuotaAmounts {
  const spare = { ...NOTHING };
  if (!wantsWarmGuest({ ...vm, spec: withoutHost(vm.spec) })) return spare;
  for (const member of world.list(VMS, vm.metadata.namespace)) {
    const share = isMadeFor(member, vm, world) ? tenantShareOf(member) : undefined;
    spare.vms += share?.vms ?? 0;
    spare.vcpus += share?.vcpus ?? 0;
    spare.memoryBytes += share?.memoryBytes ?? 0;
  }
  return spare;
}

const withoutHost = ({ hostName: _, ...spec }: VM['spec']): VM['spec'] => spec;

const less = (use: QuotaAmounts, spare: QuotaAmounts): QuotaAmounts => ({
  vms: use.vms - spare.vms,
  vcpus: use.vcpus - spare.vcpus,
  memoryBytes: use.memoryBytes - spare.memoryBytes,
});

function grows({ before, after }: Change<VM>): boolean {
  const now = after && tenantShareOf(after);
  if (now === undefined) return false;
  const was = before && tenantShareOf(before);
  return was === undefined || now.vms > was.vms || now.vcpus > was.vcpus || now.memoryBytes > was.memoryBytes;
}

/** What stands in for a VM is admitted by what that one holds: from when it holds less, the other may be what holds most. */
function bearsLess({ before, after }: Change<VM>): boolean {
  return before?.spec.reschedulable === true && grows({ before: after, after: before });
}

function exceeded({ before, after }: Change<VM>, world: WorldView, spare: QuotaAmounts): Refusal | undefined {
  if (after === undefined) return undefined;
  const namespace = after.metadata.namespace ?? '';
  const quota = limitsIn(namespace, world);
  // What stands in for a VM is looked for among all of its namespace, which is for nothing where nothing is limited.
  if (!isLimited(quota)) return undefined;
  // A VM and all that stands in for it hold once what the one of them does that holds most.
  const others = before === undefined && after.spec.standsInFor === undefined ? [] : othersOfMove(after, world);
  const heldWith = (vm: VM | undefined) => mostOf([(vm && tenantShareOf(vm)) ?? NOTHING, ...others]);
  const [asked, own] = [heldWith(after), heldWith(before)];
  const use = less(world.tenantUse(namespace), spare);
  const over: string[] = [];
  const check = (
    limit: string,
    max: number | undefined,
    used: number,
    had: number,
    wants: number,
    show: (n: number) => string,
  ) => {
    if (max === undefined || wants <= had || used - had + wants <= max) return;
    over.push(`${limit}: requested ${show(wants - had)}, used ${show(used)}, limited ${show(max)}`);
  };
  check('maxVMs', quota.maxVMs, use.vms, own.vms, asked.vms, String);
  check('maxVCPUs', quota.maxVCPUs, use.vcpus, own.vcpus, asked.vcpus, String);
  const memory = quota.maxMemory === undefined ? undefined : parseBytes(quota.maxMemory);
  check('maxMemory', memory, use.memoryBytes, own.memoryBytes, asked.memoryBytes, roughBytes);
  if (over.length === 0) return undefined;
  return { answer: 'Forbidden', cause: 'QuotaExceeded', message: `exceeded quota: ${over.join('; ')}` };
}

const NOTHING: QuotaAmounts = { vms: 0, vcpus: 0, memoryBytes: 0 };

/** What is held by the others that count together with a VM: the one it stands in for, and what else stands in for that. */
function othersOfMove(vm: VM, world: WorldView): readonly TenantShare[] {
  const { uid, namespace } = vm.metadata;
  const ofUID = vm.spec.standsInFor?.uid ?? uid;
  const shares: TenantShare[] = [];
  const add = (other: VM | undefined) => {
    const share = other && tenantShareOf(other);
    if (share !== undefined && share.uid !== uid) shares.push(share);
  };
  add(originalOf(vm, world));
  for (const other of world.list(VMS, namespace)) if (other.spec.standsInFor?.uid === ofUID) add(other);
  return shares;
}

/** Whether no tenant can have the name. */
export function isReservedName(name: string): boolean {
  return /^(default|kube-.*|coppice-.*)$/.test(name);
}

/** A tenant's own changes that other writes are judged by. */
export const tenantFacts: Guard<Tenant> = {
  name: 'tenant-facts',
  fences({ before, after }) {
    const name = (after ?? before)?.metadata.name ?? '';
    const sums =
      before !== undefined &&
      jsonEqual(before.spec.quota, after?.spec.quota) &&
      before.spec.hostGroup === after?.spec.hostGroup;
    const standing =
      before !== undefined &&
      before.spec.disabled === after?.spec.disabled &&
      before.metadata.deletionTimestamp === after?.metadata.deletionTimestamp;
    if (sums && standing) return NO_FENCES;
    return { bump: [fence.tenant(name), ...(standing ? [] : [fence.standing(name)])], compare: [] };
  },
  judge({ before, after }) {
    const name = after?.metadata.name ?? '';
    if (before !== undefined || !isReservedName(name)) return undefined;
    return {
      answer: 'Forbidden',
      cause: 'ReservedName',
      message: `the name "${name}" is reserved: default, kube-* and coppice-* cannot be tenants`,
    };
  },
};
