import type { NewObject } from '../../../apiserver/client/client.ts';
import type { CoordinationLease } from '../../../resources/kinds/coordination-lease.ts';
import {
  DUTY_PREFIX,
  ELECTION_COMPONENT,
  ELECTION_LABEL,
  MEMBER_PREFIX,
} from '../../../resources/streams/election-leases.ts';

const LABELS = { [ELECTION_LABEL]: ELECTION_COMPONENT };
/** On a member's Lease: the duties it can lead. */
const DUTIES = 'coppice.dev/duties';

/** On a member's Lease: its process, as others of its machine find it. */
const PROCESS = 'coppice.dev/process';

/** The member that nobody else can stand in for: the `up` whose store is its own. */
export const LONE_MEMBER = `${MEMBER_PREFIX}up`;

/** How long others wait after the last renewal they saw. Who leads stops well before. */
export const MEMBER_DURATION_S = 4;

/** A process that can lead, as its Lease tells. */
export interface MemberRecord {
  readonly name: string;
  readonly uid: string;
  readonly version: string;
  /** Undefined for one that holds what it holds until it lets go. */
  readonly durationMs: number | undefined;
  readonly duties: readonly string[];
  /** Undefined: it does not tell. */
  readonly process: string | undefined;
}

/** Who leads a duty, as its Lease tells. */
export interface DutyRecord {
  readonly duty: string;
  readonly version: string;
  /** The name of a member; empty: nobody. */
  readonly holder: string;
  readonly transitions: number;
}

export const dutyLeaseName = (duty: string): string => DUTY_PREFIX + duty;
export const memberName = (suffix: string): string => MEMBER_PREFIX + suffix;

export function memberOf({ metadata, spec }: CoordinationLease): MemberRecord | undefined {
  const { name, uid, resourceVersion, annotations } = metadata;
  if (!name.startsWith(MEMBER_PREFIX)) return undefined;
  const seconds = spec?.leaseDurationSeconds ?? undefined;
  return {
    name,
    uid,
    version: resourceVersion,
    durationMs: seconds === undefined ? undefined : seconds * 1000,
    duties: (annotations?.[DUTIES] ?? '').split(',').filter((duty) => duty !== ''),
    process: annotations?.[PROCESS],
  };
}

export function dutyOf({ metadata, spec }: CoordinationLease): DutyRecord | undefined {
  const { name, resourceVersion } = metadata;
  if (!name.startsWith(DUTY_PREFIX)) return undefined;
  return {
    duty: name.slice(DUTY_PREFIX.length),
    version: resourceVersion,
    holder: spec?.holderIdentity ?? '',
    transitions: spec?.leaseTransitions ?? 0,
  };
}

/** A member's own Lease. `where` tells people which process it is; `renewTime` undefined makes one that does not run out. */
export function newMemberLease(
  name: string,
  wish: {
    readonly where: string;
    readonly duties: readonly string[];
    readonly renewTime: string | undefined;
    readonly process?: string | undefined;
  },
): NewObject<CoordinationLease> {
  const { where, duties, renewTime, process } = wish;
  return {
    ...TYPE,
    metadata: {
      name,
      labels: LABELS,
      annotations: { [DUTIES]: duties.join(','), ...(process === undefined ? {} : { [PROCESS]: process }) },
    },
    spec: {
      holderIdentity: where,
      ...(renewTime === undefined
        ? {}
        : { renewTime, acquireTime: renewTime, leaseDurationSeconds: MEMBER_DURATION_S }),
    },
  };
}

/** A duty's Lease is renewed by nobody: when it was taken is all that its times tell. */
export function newDutyLease(duty: string, holder: string, acquireTime: string): NewObject<CoordinationLease> {
  return {
    ...TYPE,
    metadata: { name: dutyLeaseName(duty), labels: LABELS },
    spec: { holderIdentity: holder, acquireTime, renewTime: acquireTime, leaseTransitions: 0 },
  };
}

const TYPE = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' };
