import type { ApiClient } from '../apiserver/client/client.ts';
import { finalizerStage, releaseFinalizer } from '../controllers/runtime/finalizer.ts';
import { writeStatus } from '../controllers/runtime/write.ts';
import type { Clock } from '../resources/ambient/clock.ts';
import type { Logger } from '../resources/ambient/log.ts';
import { VOLUME_FINALIZER } from '../resources/guards/volume-admission.ts';
import { fileBytes, isVolumeLost } from '../resources/guards/volume-facts.ts';
import { Volume } from '../resources/kinds/volume.ts';
import { setConditions } from '../resources/meta/condition.ts';
import { objectKey } from '../resources/meta/object.ts';
import { formatBytes, roughBytes } from '../resources/meta/quantity.ts';
import { type Driver, DriverError, type ObservedVolume } from './drivers/driver.ts';
import type { Outcome } from './reconcile-guest.ts';
import type { StoreGuard } from './store-guard.ts';

export interface VolumeDeps {
  readonly driver: Driver;
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly store: Pick<StoreGuard, 'check'>;
  /** As new as is known, where it lies on this very Host. */
  readonly volume: (key: string) => Volume | undefined;
  readonly wrote: (volume: Volume) => void;
}

/** How soon to look again where room, a guest that goes, or an operator is waited for. */
const AGAIN_MS = 15_000;

/** What is so of a volume's file. */
interface FileState {
  readonly bytes: number;
  readonly ready: boolean;
  readonly reason: string;
  readonly message: string;
}

/** Makes the file of one volume, lets it grow, or removes it, and says what is so. A file that was there and is gone is never made anew: that would pass for the data. */
export async function reconcileVolume(key: string, deps: VolumeDeps, signal: AbortSignal): Promise<Outcome> {
  const volume = deps.volume(key);
  if (volume === undefined) return {};
  if (volume.metadata.deletionTimestamp !== undefined) return remove(volume, deps, signal);
  const id = volume.status?.id;
  if (id === undefined) return {};
  const lost = isVolumeLost(volume);
  const { bytes, ready, reason, message } = lost
    ? left(await fileOf(id, deps.driver, signal))
    : await keep(volume, id, deps, signal);
  const conditions = setConditions(volume, deps.clock.now(), [
    { type: 'FileReady', status: ready ? 'True' : 'False', reason, message },
  ]);
  const size = bytes > 0 ? formatBytes(bytes) : lost ? undefined : volume.status?.size;
  const written = await writeStatus(resourceOf(volume, deps), volume, { size, conditions }, signal);
  if (written !== undefined) deps.wrote(written);
  return ready || lost ? {} : { requeueAfterMs: AGAIN_MS };
}

/** What is lost goes with the scrub that took it, or with its object. */
function left(file: ObservedVolume | undefined): FileState {
  const message = 'its file is gone';
  return file === undefined ? { bytes: 0, ready: false, reason: 'FileGone', message } : there(file.sizeBytes);
}

async function keep(volume: Volume, id: string, deps: VolumeDeps, signal: AbortSignal): Promise<FileState> {
  const { driver, log } = deps;
  const has = await fileOf(id, driver, signal);
  const wants = fileBytes(volume);
  if (has === undefined && volume.status?.size !== undefined) {
    const message = `its file, of ${volume.status.size}, is gone from host ${volume.spec.hostName}`;
    return { bytes: 0, ready: false, reason: 'FileLost', message };
  }
  if (has !== undefined && has.sizeBytes >= wants) return there(has.sizeBytes);
  try {
    await driver.keepVolume({ id, sizeBytes: wants }, signal);
    log.info('volume file made', { volume: objectKey(volume.metadata), id, size: volume.spec.size });
    return there(wants);
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    const doing = has === undefined ? 'its file cannot be made' : 'its file cannot grow';
    const reason = error.reason === 'Failed' ? 'FileFailed' : error.reason;
    return { bytes: has?.sizeBytes ?? 0, ready: false, reason, message: `${doing}: ${error.message}` };
  }
}

const there = (bytes: number): FileState => ({
  bytes,
  ready: true,
  reason: 'FileThere',
  message: `its file has ${roughBytes(bytes)}, taken as they are written`,
});

/** The object goes when nothing of the file is left. */
async function remove(volume: Volume, deps: VolumeDeps, signal: AbortSignal): Promise<Outcome> {
  if (finalizerStage(volume, VOLUME_FINALIZER) !== 'cleanup') return {};
  const { driver, log } = deps;
  const id = volume.status?.id;
  if (id !== undefined && (await fileOf(id, driver, signal)) !== undefined) {
    // A store that was put back may ask for what a later one wanted kept.
    if (!(await deps.store.check(signal)).trusted) return { requeueAfterMs: AGAIN_MS };
    try {
      await driver.removeVolume(id, signal);
    } catch (error) {
      if (!(error instanceof DriverError)) throw error;
      log.info('volume file not removed yet', { id, why: error.message });
      return { requeueAfterMs: AGAIN_MS };
    }
    log.info('volume file removed', { volume: objectKey(volume.metadata), id });
  }
  await releaseFinalizer(resourceOf(volume, deps), volume, VOLUME_FINALIZER, signal);
  return {};
}

async function fileOf(id: string, driver: Driver, signal: AbortSignal): Promise<ObservedVolume | undefined> {
  return (await driver.volumes(signal)).find((file) => file.id === id);
}

function resourceOf({ metadata }: Volume, { client }: VolumeDeps) {
  return client.resource<Volume>(Volume, metadata.namespace);
}
