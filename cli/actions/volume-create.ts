import type { KubeObject } from '../../resources/meta/object.ts';
import type { Target } from '../coppice-command.ts';
import { Exit, Failure, usage } from '../failure.ts';
import { type Io, printLine, warn } from '../io.ts';
import { conditionOf } from '../render/conditions.ts';
import { openSession } from '../session.ts';
import { VOLUMES, type VolumeView, volumeName } from '../volume-ref.ts';
import { Deadline, durationFlag } from '../wait/deadline.ts';
import { watchUntil } from '../wait/watch-until.ts';

interface VolumeCreateOptions {
  readonly words: readonly string[];
  readonly size: string | undefined;
  readonly wait: boolean;
  readonly timeout: string;
}

/** Makes a Volume and, unless told not to, waits until it lies on a host. */
export async function createVolume(io: Io, target: Target, options: VolumeCreateOptions): Promise<void> {
  const timeoutMs = durationFlag('timeout', options.timeout);
  const name = volumeName(options.words, 'volume create');
  const { size } = options;
  if (size === undefined) throw usage('say how large it is: --size 50Gi', 'volume create');
  await using session = await openSession(io, target);
  const volumes = session.client.resource<VolumeView>(VOLUMES, session.namespace);
  const wish = { apiVersion: 'coppice.dev/v1', kind: 'Volume', metadata: { name }, spec: { size } };
  await volumes.create(wish, { fieldManager: 'coppice' }, io.signal);
  printLine(io, `volume.coppice.dev/${name} created`);
  if (!options.wait) return;
  using deadline = new Deadline(io.signal, timeoutMs);
  let last: KubeObject | undefined;
  const isThere = (volume: VolumeView | undefined) =>
    volume === undefined || conditionOf(volume, 'Ready')?.status === 'True';
  try {
    const volume = await watchUntil(volumes, name, isThere, deadline.signal, (seen) => {
      last = seen;
    });
    if (volume === undefined) throw new Failure(`volume ${name} was deleted while it was waited for`);
    printLine(
      io,
      `it lies on host ${volume.spec?.hostName}; in a guest it is /dev/disk/by-id/virtio-${volume.status?.id}`,
    );
  } catch (error) {
    if (!deadline.passed) throw error;
    const why = conditionOf(last, 'Ready');
    warn(io, `error: volume ${name} is not there yet${why === undefined ? '' : `: ${why.message}`}`);
    throw new Exit(1);
  }
}
