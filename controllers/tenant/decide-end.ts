import { rfc3339 } from '../../resources/ambient/clock.ts';
import { TENANT_FINALIZER } from '../../resources/guards/tenant-namespace.ts';
import { isVolumeLost } from '../../resources/guards/volume-facts.ts';
import { isOpen } from '../../resources/guards/world.ts';
import type { Lease } from '../../resources/kinds/lease.ts';
import type { Tenant } from '../../resources/kinds/tenant.ts';
import type { VM } from '../../resources/kinds/vm.ts';
import type { Volume } from '../../resources/kinds/volume.ts';
import { firstOf } from '../../resources/meta/first-of.ts';
import type { Holdings } from './decide.ts';

const NAMES_SHOWN = 5;

type Release = NonNullable<Lease['spec']['release']>;

export type End =
  | { readonly kind: 'live' | 'gone' }
  /** These go, these end when it says, and the tenant waits for what it says. */
  | {
      readonly kind: 'wait';
      readonly vms: readonly VM[];
      readonly unwanted: readonly Lease[];
      /** Those whose data is gone already, or that were never anywhere. */
      readonly volumes: readonly Volume[];
      readonly releases: readonly { readonly lease: Lease; readonly release: Release }[];
      readonly waitsFor: string;
    }
  /** Nothing of it holds a host any more: the rest goes, and then the tenant. */
  | { readonly kind: 'remove-contents' };

/**
 * What is to be done about a tenant that is being deleted. Its VMs go; its leases end as soon as their minimum is over, and a lease that never had a host is
 * dropped; a host that is held for it after its Lease was deleted is waited for. Its volumes stand in the way until they are deleted, other than those that hold nothing any more: they go. By force its leases end at once, what is held stays
 * held without it, and its volumes are lost.
 */
export function decideEnd(tenant: Tenant, { vms, leases, volumes, hosts }: Holdings, nowMs: number): End {
  if (tenant.metadata.deletionTimestamp === undefined) return { kind: 'live' };
  if (tenant.metadata.finalizers?.includes(TENANT_FINALIZER) !== true) return { kind: 'gone' };
  const forced = tenant.spec.forceDelete !== undefined;
  const open = leases.filter(isOpen);
  const held = forced ? [] : hosts.filter(({ status }) => status?.lease?.released === true);
  const waits = [
    ...told(
      few(vms, 'the guest of 1 VM is gone', (n) => `the guests of ${n} VMs are gone`),
      vms.map(({ metadata }) => metadata.name),
    ),
    ...told(
      few(open, '1 lease is over', (n) => `${n} leases are over`),
      open.map(leaseEnd),
    ),
    ...told(
      few(
        held,
        '1 host is free that is held to the end of its minimum',
        (n) => `${n} hosts are free that are held to the end of their minimum`,
      ),
      held.map(({ metadata, status }) => `${metadata.name} at ${status?.lease?.earliestEnd ?? status?.lease?.since}`),
    ),
  ];
  const given = volumes.filter(hasNothing);
  const kept = volumes.filter((volume) => !hasNothing(volume));
  if (kept.length > 0) waits.push(volumesText(kept, forced, tenant.metadata.name));
  waits.push(
    ...told(
      few(given, '1 volume is gone', (n) => `${n} volumes are gone`),
      namesOf(given),
    ),
  );
  if (waits.length === 0) return { kind: 'remove-contents' };
  const releases = open.flatMap((lease) => {
    const release = releaseOf(lease, forced, nowMs);
    return release === undefined ? [] : [{ lease, release }];
  });
  const unwanted = open.filter((lease) => !hasHost(lease) && lease.metadata.deletionTimestamp === undefined);
  return { kind: 'wait', vms, unwanted, volumes: given, releases, waitsFor: `waits until ${waits.join('; until ')}` };
}

function volumesText(volumes: readonly Volume[], forced: boolean, tenant: string): string {
  const names = namesOf(volumes).sort();
  const what = few(volumes, '1 volume is', (n) => `${n} volumes are`);
  const how = forced ? '' : ` (coppice volume delete NAME -n ${tenant}; with it goes its data)`;
  return `${what} deleted: ${firstOf(names, NAMES_SHOWN)}${how}`;
}

/** Its data is gone, or there was never any: nobody loses anything with it. */
const hasNothing = (volume: Volume): boolean => isVolumeLost(volume) || volume.spec.hostName === undefined;

const namesOf = (volumes: readonly Volume[]): string[] => volumes.map(({ metadata }) => metadata.name);

const hasHost = ({ status }: Lease): boolean => status?.phase === 'Active' || status?.phase === 'Ending';

/** The release that ends a lease in time; undefined where it ends so already. */
function releaseOf(lease: Lease, forced: boolean, nowMs: number): Release | undefined {
  if (lease.status?.phase !== 'Active') return undefined;
  const { release } = lease.spec;
  if (forced) return release?.force === true ? undefined : { force: true };
  const earliest = lease.status.earliestEnd;
  const inTime = (at: string) => earliest === undefined || Date.parse(at) <= Date.parse(earliest);
  if (release !== undefined && (release.force === true || release.at === undefined || inTime(release.at)))
    return undefined;
  // One that asks for a time that is past asks for now.
  return { at: earliest ?? rfc3339(nowMs) };
}

function leaseEnd(lease: Lease): string {
  const { metadata, status, spec } = lease;
  if (status?.phase === 'Ending') return `${metadata.name} (${status.host}, as soon as its guests are gone)`;
  if (!hasHost(lease)) return metadata.name;
  const at = spec.release?.force === true ? 'now' : `at ${status?.earliestEnd}`;
  return `${metadata.name} (${status?.host}, ${at})`;
}

const few = (things: readonly unknown[], one: string, many: (count: number) => string): string =>
  things.length === 1 ? one : many(things.length);

/** One line for people: what is waited for, and the first names. */
function told(what: string, names: readonly string[]): readonly string[] {
  if (names.length === 0) return [];
  return [`${what}: ${firstOf([...names].sort(), NAMES_SHOWN)}`];
}
