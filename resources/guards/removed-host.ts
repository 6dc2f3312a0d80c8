import { rfc3339 } from '../ambient/clock.ts';
import type { ConfigMap } from '../kinds/config-map.ts';
import type { Host } from '../kinds/host.ts';
import { setConditions } from '../meta/condition.ts';
import type { AdmissionContext, CompanionWrite } from '../meta/define-kind.ts';
import { encodeJson } from '../meta/json.ts';
import { cordonedWithDrain } from './host-drain.ts';
import { SCRUB_PENDING, scrubRecords, waitsForScrub } from './host-scrub.ts';
import { type PastLease, pastLeasesIn, withEnded, withScrubbed } from './past-leases.ts';
import { CONFIG_MAPS, LEASES } from './refs.ts';
import { vmsUsing } from './vms-using.ts';
import type { WorldView } from './world.ts';

const CONFIG_MAP_REF = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true } as const;
const SYSTEM = 'coppice-system';

const recordName = (host: string) => `removed-host.${host}`;

/** Admission of a Host: with a drain it is cordoned, and one that is made anew where another was given up before it was clear waits for a scrub from the start. */
export function admitHost(wanted: Host, previous: Host | undefined, context: AdmissionContext): Host {
  const { world, nowMs } = context;
  const draft = withAsker(cordonedWithDrain(wanted), previous, context);
  const record = previous === undefined ? recordOf(draft, world)?.data : undefined;
  return record === undefined ? withScrubbed(draft, previous) : madeAnew(draft, record, nowMs);
}

/** The bills of the Host before go on with it, and what was on that is taken to be on this one. */
function madeAnew(draft: Host, { why, pastLeases }: Readonly<Record<string, string>>, nowMs: number): Host {
  const message = `the Host of this name before it was given up ${why}; it takes nothing before it is scrubbed`;
  const pending = { type: SCRUB_PENDING, status: 'True', reason: 'MadeAnew', message } as const;
  const past = pastLeasesIn(pastLeases);
  const status = {
    ...draft.status,
    ...(past === undefined ? {} : { pastLeases: [...past] }),
    ...(why === undefined ? {} : { conditions: setConditions(draft, nowMs, [pending]) }),
  };
  return { ...draft, status };
}

/** Who asks for a scrub stands beside it, whatever a client says. */
function withAsker(draft: Host, previous: Host | undefined, { asker }: AdmissionContext): Host {
  const { scrub } = draft.spec;
  if (scrub === undefined) return draft;
  const before = previous?.spec.scrub;
  const by = before?.requestedAt === scrub.requestedAt ? before.by : asker.user;
  return by === scrub.by
    ? draft
    : { ...draft, spec: { ...draft.spec, scrub: { ...scrub, ...(by === undefined ? {} : { by }) } } };
}

/**
 * What goes with a Host in one transaction: with the end of a scrub its records; with its removal a note of why the machine is not known to be clear, and of
 * the leases it had, some of which are billed for longer, which the Host that is made anew under the name takes over.
 */
export function hostCompanions(
  after: Host | undefined,
  before: Host | undefined,
  context: AdmissionContext,
): readonly CompanionWrite[] {
  if (after !== undefined && before !== undefined) return scrubRecords(after, before, context);
  const { world, nowMs } = context;
  if (after !== undefined) return recordOf(after, world) === undefined ? [] : [write(after, undefined)];
  if (before === undefined) return [];
  const why = unclear(before, world);
  const past = leasesOf(before, world, nowMs);
  return why === undefined && past.length === 0 ? [] : [write(before, newRecord(before, { why, past }, nowMs))];
}

function recordOf({ metadata }: Host, world: WorldView): ConfigMap | undefined {
  return world.get(CONFIG_MAPS, SYSTEM, recordName(metadata.name));
}

/** How it is, if something of a tenant is or may be on it. */
function unclear(host: Host, world: WorldView): string | undefined {
  const { lease, orphans = [] } = host.status ?? {};
  if (lease !== undefined) return `while it was leased to ${lease.namespace} (${lease.name})`;
  if (waitsForScrub(host)) return 'while it waited for a scrub';
  const bound = vmsUsing(world, (vm) => vm.spec.hostName === host.metadata.name);
  if (bound.length + orphans.length > 0) return 'with guests on it';
  return [...world.volumesOn(host.metadata.name)].length === 0 ? undefined : 'with volumes on it';
}

function write({ metadata }: Host, object: ConfigMap | undefined): CompanionWrite {
  return { resource: CONFIG_MAP_REF, namespace: SYSTEM, name: recordName(metadata.name), object };
}

/** The leases it had. One it is held for has no Lease any more, and is billed to its minimum all the same; one that is there says so itself once it ends. */
function leasesOf(host: Host, world: WorldView, nowMs: number): readonly PastLease[] {
  const claim = host.status?.lease;
  const lease = claim && world.get(LEASES, claim.namespace, claim.name);
  const isHeld = claim !== undefined && lease?.metadata.uid !== claim.uid;
  return isHeld ? withEnded(host, nowMs) : (host.status?.pastLeases ?? []);
}

interface Kept {
  readonly why: string | undefined;
  readonly past: readonly PastLease[];
}

function newRecord({ metadata }: Host, { why, past }: Kept, nowMs: number): ConfigMap {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: recordName(metadata.name),
      namespace: SYSTEM,
      uid: '',
      resourceVersion: '',
      creationTimestamp: rfc3339(nowMs),
    },
    data: {
      host: metadata.name,
      uid: metadata.uid,
      ...(why === undefined ? {} : { why }),
      ...(past.length === 0 ? {} : { pastLeases: encodeJson(past) }),
    },
  };
}
