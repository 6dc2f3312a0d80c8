import type { Clock } from '../resources/ambient/clock.ts';
import type { Logger } from '../resources/ambient/log.ts';
import { notReady, volumesOf } from '../resources/guards/volume-facts.ts';
import type { VM } from '../resources/kinds/vm.ts';
import type { Volume } from '../resources/kinds/volume.ts';
import { objectKey } from '../resources/meta/object.ts';
import { type Driver, DriverError, type ObservedGuest } from './drivers/driver.ts';
import type { GuestOperations, Trouble } from './guest-operations.ts';
import type { GuestRoom } from './guest-room.ts';
import { guestSpec } from './guest-spec.ts';
import { type Action, type Cell, isDestructive, type Phase } from './plan.ts';
import type { StoreGuard } from './store-guard.ts';
import type { Hold } from './vm-report.ts';

export interface ActDeps {
  readonly driver: Driver;
  readonly operations: GuestOperations;
  readonly room: GuestRoom;
  readonly store: StoreGuard;
  readonly clock: Clock;
  readonly log: Logger;
  /** Where an Image lies; undefined when there is no such Image. */
  readonly imagePath: (image: string) => string | undefined;
  /** A volume that lies on this very Host, by `namespace/name`. */
  readonly volume: (key: string) => Volume | undefined;
  /** What guests may use of the host's memory. */
  readonly memoryBytes: (signal: AbortSignal) => Promise<number>;
  /** How long a guest may take to shut down, in milliseconds. */
  readonly graceMs: number;
}

/** One guest, what is so of it, and what the plan says. `vm` undefined: it is an orphan. */
export interface Job {
  readonly id: string;
  readonly vm: VM | undefined;
  readonly guest: ObservedGuest | undefined;
  readonly cell: Cell;
}

/** How soon to look again where waiting is for somebody outside of this host. */
const DISTRUST_RETRY_MS = 30_000;
const LACK_RETRY_MS = 15_000;

/**
 * Begins what the plan says, unless something is under way already or speaks against it; the answer is what does. Idempotent: called again it begins
 * nothing twice.
 */
export async function act(job: Job, deps: ActDeps, signal: AbortSignal): Promise<Hold | undefined> {
  const { id, cell } = job;
  const { operations } = deps;
  const current = operations.current(id);
  if (current !== undefined) {
    // Whatever it is, its outcome is of no interest to a guest that is to go.
    if (cell.action === 'destroy' && current !== 'destroy') operations.abort(id);
    return undefined;
  }
  if (cell.action === 'none' || cell.action === 'report-gone' || cell.action === 'release') {
    operations.forgive(id);
    return undefined;
  }
  const hold =
    holdOfTrouble(job, operations.trouble(id, cell.action), deps.clock.monotonic()) ??
    (await distrust(job, deps, signal));
  return hold ?? (await begin(job, deps, signal));
}

async function distrust({ cell, guest }: Job, deps: ActDeps, signal: AbortSignal): Promise<Hold | undefined> {
  if (!isDestructive(cell.action)) return undefined;
  const trust = await deps.store.check(signal);
  if (trust.trusted) return undefined;
  const { message } = trust;
  return { phase: phaseNow(guest), reason: 'StoreRolledBack', message, retryMs: DISTRUST_RETRY_MS };
}

async function begin(job: Job, deps: ActDeps, signal: AbortSignal): Promise<Hold | undefined> {
  const { id, vm, cell } = job;
  const { driver, graceMs } = deps;
  const run = (work: (signal: AbortSignal) => Promise<void>) => launch(job, deps, work, signal);
  switch (cell.action) {
    case 'create':
    case 'adopt':
      return vm === undefined ? undefined : beginCreate(vm, deps, run);
    case 'start':
      return beginStart(job, deps, run, signal);
    case 'stop':
    case 'stop-stale':
      return run((s) => driver.stop(id, { graceMs }, s));
    case 'pause':
      return run((s) => driver.pause(id, s));
    case 'resume':
      return run((s) => driver.resume(id, s));
    case 'destroy':
      return run((s) => driver.remove(id, s));
    case 'acknowledge':
      return run((s) => acknowledge(id, driver, s));
    case 'none':
    case 'report-gone':
    case 'release':
      return undefined;
    default:
      throw new Error(`unhandled action ${cell.action satisfies never}`);
  }
}

type Run = (work: (signal: AbortSignal) => Promise<void>) => undefined;

function launch(job: Job, deps: ActDeps, work: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): undefined {
  const { id, guest, vm, cell } = job;
  const label = vm === undefined ? guest?.label : `${vm.metadata.namespace ?? ''}/${vm.metadata.name}`;
  const log = deps.log.child({ guest: id, vm: label, action: cell.action });
  deps.operations.begin(
    id,
    cell.action,
    async (s) => {
      log.debug('guest operation begins', { reason: cell.reason });
      await work(s);
      log.info('guest operation done');
    },
    signal,
  );
}

function beginCreate(vm: VM, deps: ActDeps, run: Run): Hold | undefined {
  const { resolved, image } = vm.spec;
  const path = deps.imagePath(image);
  const wait = (reason: string, message: string): Hold => ({
    phase: 'Pending',
    reason,
    message,
    retryMs: LACK_RETRY_MS,
  });
  if (resolved === undefined) return wait('NotAdmitted', 'the VM was bound before it was admitted');
  if (path === undefined) return wait('ImageNotFound', `no Image is named ${image}; the VM waits for it`);
  const volumes = volumeIDs(vm, deps);
  if (!Array.isArray(volumes)) return wait(volumes.reason, volumes.message);
  return run((s) => deps.driver.create(guestSpec(vm, resolved, path, volumes), s));
}

/** The ids of a VM's volumes; or why it cannot have them yet. */
function volumeIDs(
  vm: VM,
  { driver, volume }: ActDeps,
): string[] | { readonly reason: string; readonly message: string } {
  const ids: string[] = [];
  for (const name of volumesOf(vm)) {
    if (driver.capabilities.volumes !== true)
      return { reason: 'VolumesUnsupported', message: `driver ${driver.name} attaches no volumes` };
    const found = volume(objectKey({ name, namespace: vm.metadata.namespace }));
    if (found === undefined)
      return { reason: 'VolumeNotFound', message: `volume ${name} is not one of this host; the VM waits for it` };
    const why = notReady(found);
    if (why !== undefined) return { reason: 'VolumeNotReady', message: why };
    if (found.status?.id !== undefined) ids.push(found.status.id);
  }
  return ids;
}

async function beginStart(job: Job, deps: ActDeps, run: Run, signal: AbortSignal): Promise<Hold | undefined> {
  const { guest, id } = job;
  if (guest === undefined) return undefined;
  const room = await deps.room.take(guest, await deps.memoryBytes(signal), signal);
  if (typeof room !== 'function') return { phase: 'Pending', ...room, retryMs: LACK_RETRY_MS };
  return run(async (s) => {
    try {
      await deps.driver.start(id, s);
    } finally {
      room();
    }
  });
}

/** The driver keeps it with the guest, so that it holds over restarts of everything. */
async function acknowledge(id: string, driver: Driver, signal: AbortSignal): Promise<void> {
  await driver.stop(id, { graceMs: 0 }, signal);
  const guest = (await driver.list(signal)).find((other) => other.id === id);
  if (guest !== undefined && guest.power === 'Off' && guest.stopReason !== 'Requested') {
    throw new DriverError('Unsupported', `driver ${driver.name} does not record that a guest is off on request`);
  }
}

/** What the guest is, where what is wanted of it cannot be had. */
function phaseNow(guest: ObservedGuest | undefined): Phase {
  switch (guest?.power) {
    case undefined:
    case 'Off':
      return 'Stopped';
    case 'Starting':
      return 'Creating';
    default:
      return guest?.power ?? 'Stopped';
  }
}

const LACKS: ReadonlySet<DriverError['reason']> = new Set(['InUse', 'ImageMissing', 'VolumeMissing', 'NoSpace']);

/** Undefined: try, or try again. */
function holdOfTrouble({ guest, cell }: Job, trouble: Trouble | undefined, nowMs: number): Hold | undefined {
  if (trouble === undefined) return undefined;
  const { reason, message, failures, retryAtMs } = trouble;
  if (retryAtMs !== undefined && nowMs >= retryAtMs) return undefined;
  const wait = retryAtMs === undefined ? {} : { retryMs: retryAtMs - nowMs };
  if (LACKS.has(reason)) {
    const slot = reason === 'InUse' && guest?.guestOS === 'macos';
    return { phase: 'Pending', reason: slot ? 'MacSlotLimit' : reason, message, ...wait };
  }
  const comesUp = cell.action === 'start' || cell.action === 'create';
  const failed = comesUp && retryAtMs === undefined;
  const phase = failed ? 'Failed' : comesUp ? 'Creating' : phaseNow(guest);
  const tries = failures === 1 ? 'tried once' : `tried ${failures} times`;
  return {
    phase,
    reason: reason === 'Unsupported' ? reason : FAILED[cell.action],
    message: `${message}; ${tries}`,
    ...wait,
  };
}

const FAILED: Readonly<Record<Action, string>> = {
  none: 'Failed',
  create: 'CreateFailed',
  start: 'StartFailed',
  stop: 'StopFailed',
  pause: 'PauseFailed',
  resume: 'ResumeFailed',
  destroy: 'RemoveFailed',
  acknowledge: 'StopFailed',
  adopt: 'CreateFailed',
  'stop-stale': 'StopFailed',
  'report-gone': 'Failed',
  release: 'Failed',
};
