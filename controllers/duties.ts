import type { ALL_DUTIES } from '../resources/streams/election-leases.ts';
import { drainDuty } from './drain/index.ts';
import { garbageDuty } from './garbage/index.ts';
import { hostLivenessDuty } from './host-liveness/index.ts';
import { imageDuty } from './image/index.ts';
import { leaseDuty } from './lease/index.ts';
import { leaseSetDuty } from './leaseset/index.ts';
import { placementDuty } from './placement/index.ts';
import { poolDuty } from './pool/index.ts';
import type { MakeDuty } from './runtime/duty.ts';
import { scrubDuty } from './scrub/index.ts';
import { tenantDuty } from './tenant/index.ts';
import { vmLifecycleDuty } from './vm-lifecycle/index.ts';
import { volumeDuty } from './volume/index.ts';

/** Every duty there is, in the order they are started: who judges hosts and images before who places by them. */
export const DUTIES = {
  tenant: tenantDuty,
  'host-liveness': hostLivenessDuty,
  image: imageDuty,
  lease: leaseDuty,
  leaseset: leaseSetDuty,
  scrub: scrubDuty,
  volume: volumeDuty,
  placement: placementDuty,
  pool: poolDuty,
  drain: drainDuty,
  'vm-lifecycle': vmLifecycleDuty,
  garbage: garbageDuty,
} as const satisfies Readonly<Record<(typeof ALL_DUTIES)[number], MakeDuty>>;

export type DutyName = keyof typeof DUTIES;
export const DUTY_NAMES = Object.keys(DUTIES) as readonly DutyName[];
