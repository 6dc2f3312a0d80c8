import { counted } from '../../resources/meta/counted.ts';
import { type KubeObject, valueAt } from '../../resources/meta/object.ts';
import { parseBytes } from '../../resources/meta/quantity.ts';
import { conditionOf } from '../render/conditions.ts';

/** Something a person may have to look at. */
export interface Trouble {
  readonly object: string;
  readonly reason: string;
  readonly message: string;
  /** RFC 3339; told of hosts that are not ready. */
  readonly since?: string;
}

/** What the server told. Undefined: who asks may not see it. */
export interface Seen {
  readonly hosts: readonly KubeObject[] | undefined;
  readonly vms: readonly KubeObject[];
  readonly tenants?: readonly KubeObject[] | undefined;
  readonly leases?: readonly KubeObject[] | undefined;
  readonly volumes?: readonly KubeObject[] | undefined;
  readonly leaseSets?: readonly KubeObject[] | undefined;
  readonly pools?: readonly KubeObject[] | undefined;
  readonly policies?: readonly KubeObject[] | undefined;
  /** What the server says of itself. */
  readonly shortages?: readonly Trouble[];
  /** Duties that nobody leads. */
  readonly unled?: readonly Trouble[];
}

/** Why a volume is not ready though nobody has to do anything about it. */
const COMING = ['Creating', 'Growing', 'Deleting'];
/** A VM may be on its way this long without being worth a look. */
const STARTING_MS = 60_000;
const STARTING = ['Bound', 'Creating', 'Starting', 'AgentWaiting'];
/** Of guests that nobody names, so many are named here. */
const ORPHANS_SHOWN = 3;

/** Everything that is not as it should be: the server, controllers and hosts first, since they explain the rest. */
export function attentionOf(seen: Seen, nowMs: number): Trouble[] {
  const {
    hosts = [],
    vms,
    tenants = [],
    leases = [],
    leaseSets = [],
    pools = [],
    volumes = [],
    policies = [],
    shortages = [],
    unled = [],
  } = seen;
  const policy = policies.find(({ metadata }) => metadata.name === 'default');
  return [
    ...shortages,
    ...unled,
    ...hosts.filter((host) => !isReady(host)).map(unreadyHost),
    ...hosts
      .filter((host) => conditionOf(host, 'StoreRolledBack')?.status === 'True')
      .map((host) => troubleOf(`host/${host.metadata.name}`, host, 'StoreRolledBack')),
    ...hosts
      .filter((host) => conditionOf(host, 'ScrubPending')?.status === 'True')
      .map((host) => troubleOf(`host/${host.metadata.name}`, host, 'ScrubPending')),
    ...hosts.filter(isDrainStuck).map((host) => troubleOf(`host/${host.metadata.name}`, host, 'Drained')),
    ...hosts.flatMap(orphansOn),
    ...hosts.flatMap(leakedOn),
    ...tenants
      .filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
      .map((tenant) => troubleOf(`tenant/${tenant.metadata.name}`, tenant)),
    ...leases
      .filter((lease) => !isReady(lease) && valueAt(lease, ['status', 'phase']) !== 'Ended')
      .map((lease) => troubleOf(`lease/${lease.metadata.name} in ${lease.metadata.namespace}`, lease)),
    ...volumes
      .filter(waitsForSomebody)
      .map((volume) => troubleOf(`volume/${volume.metadata.name} in ${volume.metadata.namespace}`, volume)),
    ...leaseSets
      .filter(lacksLeases)
      .map((set) => troubleOf(`leaseset/${set.metadata.name} in ${set.metadata.namespace}`, set)),
    ...pools
      .filter(isNotGettingWarm)
      .map((pool) => troubleOf(`pool/${pool.metadata.name} in ${pool.metadata.namespace}`, pool)),
    ...tenants.flatMap((tenant) => overQuota(tenant, policy)),
    ...vms
      .filter((vm) => needsLook(vm, nowMs))
      .map((vm) => troubleOf(`vm/${vm.metadata.name} in ${vm.metadata.namespace}`, vm)),
  ];
}

export function isReady(object: KubeObject): boolean {
  return conditionOf(object, 'Ready')?.status === 'True';
}

/** Leases that wait are told of by themselves; this is for those that are not made. */
function lacksLeases(set: KubeObject): boolean {
  const count = (field: string) => Number(valueAt(set, ['status', field]) ?? 0);
  return !isReady(set) && count('active') + count('pending') < count('wanted');
}

/** A drain of which something stands in the way; one that is under way needs no look. */
function isDrainStuck(host: KubeObject): boolean {
  const drained = conditionOf(host, 'Drained');
  return drained?.status === 'False' && drained.reason === 'Waiting';
}

/** One whose members are on the way up needs no look. */
function isNotGettingWarm(pool: KubeObject): boolean {
  const ready = conditionOf(pool, 'Ready');
  return ready?.status === 'False' && ready.reason !== 'Warming';
}

function unreadyHost(host: KubeObject): Trouble {
  const since = conditionOf(host, 'Ready')?.since ?? '';
  return { ...troubleOf(`host/${host.metadata.name}`, host), ...(since === '' ? {} : { since }) };
}

function troubleOf(object: string, from: KubeObject, about = 'Ready'): Trouble {
  // Why it has no place says more than that it is not ready.
  const scheduled = conditionOf(from, 'Scheduled');
  const told = scheduled?.status === 'False' ? scheduled : conditionOf(from, about);
  return { object, reason: told?.reason ?? 'Unknown', message: told?.message ?? 'nothing is known of it yet' };
}

function orphansOn(host: KubeObject): Trouble[] {
  const orphans = valueAt(host, ['status', 'orphans']);
  if (!Array.isArray(orphans) || orphans.length === 0) return [];
  const names = orphans.slice(0, ORPHANS_SHOWN).map((orphan) => String(valueAt(orphan, ['label'])));
  const shown = [...names, ...(orphans.length > ORPHANS_SHOWN ? ['…'] : [])].join(', ');
  const guests = counted(orphans.length, 'guest');
  return [{ object: `host/${host.metadata.name}`, reason: 'Orphans', message: `${guests} that no VM names: ${shown}` }];
}

function leakedOn(host: KubeObject): Trouble[] {
  const leaked = Number(valueAt(host, ['status', 'macosSlots', 'leaked']) ?? 0);
  if (leaked === 0) return [];
  const total = valueAt(host, ['status', 'macosSlots', 'total']);
  const message = `${leaked} of ${total} macOS slots ${leaked === 1 ? 'is' : 'are'} lost until the Mac restarts`;
  return [{ object: `host/${host.metadata.name}`, reason: 'LeakedSlots', message }];
}

const LIMITS = [
  ['maxVMs', 'vms', 'VMs'],
  ['maxVCPUs', 'vcpus', 'vCPUs'],
  ['maxMemory', 'memory', 'memory'],
  ['maxLeasedHosts', 'leasedHosts', 'leased hosts'],
  ['maxVolumeSize', 'volumeSize', 'volumes'],
] as const;

/** A limit that the tenant does not set is the policy's; what neither sets does not exist. */
function overQuota(tenant: KubeObject, policy: KubeObject | undefined): Trouble[] {
  const over = LIMITS.flatMap(([limit, field, word]) => {
    const used = valueAt(tenant, ['status', 'used', field]);
    const most = valueAt(tenant, ['spec', 'quota', limit]) ?? valueAt(policy, ['spec', 'defaultQuota', limit]);
    return amountOf(used) > amountOf(most) ? [`${used} of ${most} ${word}`] : [];
  });
  if (over.length === 0) return [];
  return [{ object: `tenant/${tenant.metadata.name}`, reason: 'OverQuota', message: `holds ${over.join(', ')}` }];
}

/** NaN, which is more and less than nothing, when there is none. */
function amountOf(value: unknown): number {
  return parseBytes(String(value ?? '')) ?? Number.NaN;
}

function needsLook(vm: KubeObject, nowMs: number): boolean {
  const ready = conditionOf(vm, 'Ready');
  if (ready?.status === 'True') return false;
  if (ready?.status === 'Unknown') return true;
  return !isAsleep(vm) && !isStarting(vm, nowMs);
}

/** One that is to be off and is not needs a look like one that is to run and does not. */
function isAsleep(vm: KubeObject): boolean {
  const phase = String(valueAt(vm, ['status', 'phase']) ?? 'Pending');
  return (
    (valueAt(vm, ['spec', 'power']) ?? 'Running') !== 'Running' && ['Stopped', 'Paused', 'Pending'].includes(phase)
  );
}

/** Whether a VM is on its way, and not for long: since it was made, was given a host, went off or came up. */
function isStarting(vm: KubeObject, nowMs: number): boolean {
  const [ready, scheduled] = [conditionOf(vm, 'Ready'), conditionOf(vm, 'Scheduled')];
  if (scheduled?.status === 'False' || (ready !== undefined && !STARTING.includes(ready.reason))) return false;
  const began = [vm.metadata.creationTimestamp, ready?.since, scheduled?.since, valueAt(vm, ['status', 'startedAt'])];
  const latestMs = Math.max(...began.map((instant) => Date.parse(String(instant))).filter((ms) => !Number.isNaN(ms)));
  return nowMs - latestMs < STARTING_MS;
}

/** A volume that no VM can have: it is stranded or lost, or finds no host. */
function waitsForSomebody(volume: KubeObject): boolean {
  const ready = conditionOf(volume, 'Ready');
  return ready?.status === 'False' && !COMING.includes(ready.reason);
}
