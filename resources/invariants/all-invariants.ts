import { drainingTakesNone } from './draining-takes-none.ts';
import { everyGuestNamed } from './every-guest-named.ts';
import { guestClaimedOnce } from './guest-claimed-once.ts';
import type { Invariant } from './invariant.ts';
import { leaseMinimum } from './lease-minimum.ts';
import { lesseeAlone } from './lessee-alone.ts';
import { movesWithGuest } from './moves-with-guest.ts';
import { oneLeasePerHost } from './one-lease-per-host.ts';
import { oneVMPerVolume } from './one-vm-per-volume.ts';
import { runningHasGuest } from './running-has-guest.ts';
import { scrubBeforeFree } from './scrub-before-free.ts';
import { setKeepsPaid } from './set-keeps-paid.ts';
import { setWithinWanted } from './set-within-wanted.ts';
import { twoMacosGuests } from './two-macos-guests.ts';
import { volumeOnItsHost } from './volume-on-its-host.ts';
import { withinAllocatable } from './within-allocatable.ts';
import { withinQuota } from './within-quota.ts';

/** Every promise about the fleet that is watched. One more is one more line here. */
export const INVARIANTS: readonly Invariant[] = [
  oneLeasePerHost,
  lesseeAlone,
  twoMacosGuests,
  withinAllocatable,
  withinQuota,
  leaseMinimum,
  setWithinWanted,
  setKeepsPaid,
  scrubBeforeFree,
  everyGuestNamed,
  guestClaimedOnce,
  runningHasGuest,
  drainingTakesNone,
  movesWithGuest,
  oneVMPerVolume,
  volumeOnItsHost,
];
