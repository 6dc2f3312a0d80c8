import type { VM } from '../resources/kinds/vm.ts';
import type { ObservedGuest } from './drivers/driver.ts';

/**
 * What is wanted of one guest. `NoVM`: no VM object here names it, it is an orphan. `Elsewhere`: its VM is bound to another host.
 * `Unwanted`: as one of these two, and an operator said that it may go. `Deleting`: a VM object with a deletionTimestamp names it, and no living one does.
 */
export const WISHES = ['NoVM', 'Elsewhere', 'Unwanted', 'Running', 'Stopped', 'Paused', 'Deleting'] as const;
export type Wish = (typeof WISHES)[number];

/**
 * What is so. `Lost`: the VM's status tells of a guest, the driver does not. `Older…` and `Newer`: the guest belongs to another binding of its VM than
 * the object here tells.
 */
export const FACTS = [
  'None',
  'Lost',
  'NeverStarted',
  'OffOnRequest',
  'OffByGuest',
  'OffCrashed',
  'OffRebooted',
  'OffStartFailed',
  'Starting',
  'Running',
  'Paused',
  'Stopping',
  'OlderOff',
  'OlderOn',
  'Newer',
] as const;
export type Fact = (typeof FACTS)[number];

/**
 * `acknowledge`: the user saw that it went off by itself and says so by power Stopped; from then on it counts as off on request.
 * `adopt`: a guest of an older binding that is off becomes one of this binding. `stop-stale`: one that is on is stopped first.
 * `report-gone`: nothing is left of it, and nobody asked for that. `release`: nothing is left of it, so the object may go.
 */
export type Action =
  | 'none'
  | 'create'
  | 'start'
  | 'stop'
  | 'pause'
  | 'resume'
  | 'destroy'
  | 'acknowledge'
  | 'adopt'
  | 'stop-stale'
  | 'report-gone'
  | 'release';

export type Phase = NonNullable<NonNullable<VM['status']>['phase']>;

export interface Cell {
  readonly action: Action;
  /** Undefined where there is no VM object to report on. */
  readonly phase?: Phase;
  /** The reason of Ready, one word. */
  readonly reason: string;
  /** Why, where a wrong answer would lose a guest, a disk or a promise. */
  readonly why?: string;
}

const cell = (action: Action, phase: Phase, reason: string, why?: string): Cell => ({
  action,
  phase,
  reason,
  ...(why === undefined ? {} : { why }),
});

const ORPHAN: Cell = {
  action: 'none',
  reason: 'Orphan',
  why: 'the object may have been lost with its store: a guest nobody asked to delete keeps its disk and its share',
};
const LEFT: Cell = {
  action: 'none',
  reason: 'BoundElsewhere',
  why: 'its disk is here: it stays, reported as an orphan',
};
const UNWANTED: Cell = {
  action: 'destroy',
  reason: 'OrphanRemoved',
  why: 'an operator named this very guest, and no VM object here does',
};
const NOTHING: Cell = { action: 'none', reason: 'Nothing' };

const HALF_STARTED = cell(
  'start',
  'Creating',
  'Starting',
  'nobody is at it any more, or it would be left to them: a start that was cut off does not end by itself',
);
const HALF_STOPPED = cell(
  'stop',
  'Stopping',
  'Stopping',
  'a stop that was cut off does not end by itself; a start now would meet half a guest, so it starts once it is off',
);
const LOST = cell(
  'report-gone',
  'Failed',
  'GuestLost',
  'its disk is gone too: a new guest under the old name would look like it and have forgotten everything',
);
const OUTDATED = cell(
  'none',
  'Pending',
  'NewerGuest',
  'this object is the older binding, or an old copy of it: it has no say over a newer guest',
);
const STALE = cell(
  'stop-stale',
  'Stopping',
  'OlderGuest',
  'the VM may have run elsewhere since: two of it must never run, and the older one gives way',
);
const CRASHED = cell(
  'none',
  'Interrupted',
  'GuestCrashed',
  'recovery is the user’s to ask for: power Stopped, then Running',
);
const REBOOTED = cell(
  'none',
  'Interrupted',
  'HostRebooted',
  'recovery is the user’s to ask for: power Stopped, then Running',
);
const SHUT_DOWN = cell('none', 'Stopped', 'GuestShutdown', 'who shut it down from inside meant it to stay off');
const DESTROY = cell(
  'destroy',
  'Destroying',
  'Deleting',
  'the VM object that names it was seen with a deletionTimestamp',
);
const RELEASE = cell(
  'release',
  'Destroying',
  'Deleting',
  'nothing is left, so nothing is held back by the object going',
);

/** What to do, for every wish and every fact, where nothing is being done to the guest already. The compiler and a test see that no cell is missing. */
export const PLAN: Readonly<Record<Wish, Readonly<Record<Fact, Cell>>>> = {
  NoVM: {
    None: NOTHING,
    Lost: NOTHING,
    NeverStarted: ORPHAN,
    OffOnRequest: ORPHAN,
    OffByGuest: ORPHAN,
    OffCrashed: ORPHAN,
    OffRebooted: ORPHAN,
    OffStartFailed: ORPHAN,
    Starting: ORPHAN,
    Running: ORPHAN,
    Paused: ORPHAN,
    Stopping: ORPHAN,
    OlderOff: ORPHAN,
    OlderOn: ORPHAN,
    Newer: ORPHAN,
  },
  Elsewhere: {
    None: NOTHING,
    Lost: NOTHING,
    NeverStarted: LEFT,
    OffOnRequest: LEFT,
    OffByGuest: LEFT,
    OffCrashed: LEFT,
    OffRebooted: LEFT,
    OffStartFailed: LEFT,
    Starting: LEFT,
    Running: LEFT,
    Paused: LEFT,
    Stopping: LEFT,
    OlderOff: LEFT,
    OlderOn: { action: 'stop-stale', reason: 'BoundElsewhere', why: STALE.why ?? '' },
    Newer: LEFT,
  },
  Unwanted: {
    None: NOTHING,
    Lost: NOTHING,
    NeverStarted: UNWANTED,
    OffOnRequest: UNWANTED,
    OffByGuest: UNWANTED,
    OffCrashed: UNWANTED,
    OffRebooted: UNWANTED,
    OffStartFailed: UNWANTED,
    Starting: UNWANTED,
    Running: UNWANTED,
    Paused: UNWANTED,
    Stopping: UNWANTED,
    OlderOff: UNWANTED,
    OlderOn: UNWANTED,
    Newer: UNWANTED,
  },
  Running: {
    None: cell('create', 'Creating', 'Creating'),
    Lost: LOST,
    NeverStarted: cell('start', 'Creating', 'Starting'),
    OffOnRequest: cell('start', 'Creating', 'Starting'),
    OffByGuest: SHUT_DOWN,
    OffCrashed: CRASHED,
    OffRebooted: REBOOTED,
    OffStartFailed: cell(
      'start',
      'Creating',
      'StartFailed',
      'it never ran, so trying again loses nothing; the nodelet counts',
    ),
    Starting: HALF_STARTED,
    Running: cell('none', 'Running', 'Running'),
    Paused: cell('resume', 'Resuming', 'Resuming'),
    Stopping: HALF_STOPPED,
    OlderOff: cell('adopt', 'Creating', 'Creating'),
    OlderOn: STALE,
    Newer: OUTDATED,
  },
  Stopped: {
    None: cell('none', 'Stopped', 'Stopped'),
    Lost: LOST,
    NeverStarted: cell('none', 'Stopped', 'Stopped'),
    OffOnRequest: cell('none', 'Stopped', 'Stopped'),
    OffByGuest: cell('acknowledge', 'Stopped', 'Stopped'),
    OffCrashed: cell('acknowledge', 'Stopped', 'Stopped'),
    OffRebooted: cell('acknowledge', 'Stopped', 'Stopped'),
    OffStartFailed: cell('acknowledge', 'Stopped', 'Stopped'),
    Starting: cell('stop', 'Stopping', 'Stopping'),
    Running: cell('stop', 'Stopping', 'Stopping'),
    Paused: cell('stop', 'Stopping', 'Stopping'),
    Stopping: HALF_STOPPED,
    OlderOff: cell('adopt', 'Stopped', 'Stopped'),
    OlderOn: STALE,
    Newer: OUTDATED,
  },
  Paused: {
    None: cell(
      'none',
      'Stopped',
      'NotStarted',
      'a paused VM has no quota for a start: only a running guest can be paused',
    ),
    Lost: LOST,
    NeverStarted: cell('none', 'Stopped', 'NotStarted'),
    OffOnRequest: cell('none', 'Stopped', 'NotStarted'),
    OffByGuest: SHUT_DOWN,
    OffCrashed: CRASHED,
    OffRebooted: REBOOTED,
    OffStartFailed: cell('none', 'Stopped', 'StartFailed'),
    Starting: HALF_STARTED,
    Running: cell('pause', 'Pausing', 'Pausing'),
    Paused: cell('none', 'Paused', 'Paused'),
    Stopping: HALF_STOPPED,
    OlderOff: cell('adopt', 'Stopped', 'NotStarted'),
    OlderOn: STALE,
    Newer: OUTDATED,
  },
  Deleting: {
    None: RELEASE,
    Lost: RELEASE,
    NeverStarted: DESTROY,
    OffOnRequest: DESTROY,
    OffByGuest: DESTROY,
    OffCrashed: DESTROY,
    OffRebooted: DESTROY,
    OffStartFailed: DESTROY,
    Starting: DESTROY,
    Running: DESTROY,
    Paused: DESTROY,
    Stopping: DESTROY,
    OlderOff: DESTROY,
    OlderOn: DESTROY,
    Newer: OUTDATED,
  },
};

/** Actions that end a running guest or its disk. */
export function isDestructive(action: Action): boolean {
  return action === 'destroy' || action === 'stop' || action === 'stop-stale';
}

/** The binding a VM object tells of. */
export function epochOf(vm: VM): number {
  return vm.spec.epoch ?? 1;
}

/** The guest a VM object names. */
export function guestIDOf(vm: VM): string {
  return vm.spec.guestID ?? vm.metadata.uid;
}

/** What a VM object here wants of its guest. */
export function wishOf(vm: VM): Wish {
  return vm.metadata.deletionTimestamp === undefined ? vm.spec.power : 'Deleting';
}

/** What is so, judged against the VM object that has a say over the guest. */
export function factOf(guest: ObservedGuest | undefined, vm: VM | undefined): Fact {
  if (guest === undefined) return vm?.status?.guest === undefined ? 'None' : 'Lost';
  const epoch = vm === undefined ? guest.epoch : epochOf(vm);
  if (guest.epoch > epoch) return 'Newer';
  if (guest.epoch < epoch) return guest.power === 'Off' ? 'OlderOff' : 'OlderOn';
  return guest.power === 'Off' ? offFact(guest) : guest.power;
}

function offFact(guest: ObservedGuest): Fact {
  switch (guest.stopReason) {
    case undefined:
      return 'NeverStarted';
    case 'Requested':
      return 'OffOnRequest';
    case 'GuestShutdown':
      return 'OffByGuest';
    case 'Crashed':
      return 'OffCrashed';
    case 'HostRebooted':
      return 'OffRebooted';
    case 'StartFailed':
      return 'OffStartFailed';
    default:
      throw new Error(`unhandled stop reason ${guest.stopReason satisfies never}`);
  }
}
