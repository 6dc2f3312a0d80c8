import type { KubeObject } from '../../resources/meta/object.ts';
import type { Target } from '../coppice-command.ts';
import { Exit, Failure, usage } from '../failure.ts';
import { type Io, printLine, warn } from '../io.ts';
import { conditionOf } from '../render/conditions.ts';
import { openSession } from '../session.ts';
import { VOLUMES, type VolumeView, volumeName } from '../volume-ref.ts';
import { Deadline, durationFlag } from '../wait/deadline.ts';
import { watchUntil } from '../wait/watch-until.ts';

interface VolumeResizeOptions {
  readonly words: readonly string[];
  readonly size: string | undefined;
  readonly wait: boolean;
  readonly timeout: string;
}

/** Makes a volume larger and, unless told not to, waits until its file has grown. */
export async function resizeVolume(io: Io, target: Target, options: VolumeResizeOptions): Promise<void> {
  const timeoutMs = durationFlag('timeout', options.timeout);
  const name = volumeName(options.words, 'volume resize');
  const { size } = options;
  if (size === undefined) throw usage('say how large it is to be: --size 100Gi', 'volume resize');
  await using session = await openSession(io, target);
  const volumes = session.client.resource<VolumeView>(VOLUMES, session.namespace);
  const asked = await volumes.patch(name, { spec: { size } }, { fieldManager: 'coppice' }, io.signal);
  if (!options.wait || asked.spec?.hostName === undefined)
    return printLine(io, `volume.coppice.dev/${name} is to have ${size}`);
  const { generation = 0 } = asked.metadata;
  using deadline = new Deadline(io.signal, timeoutMs);
  let last: KubeObject | undefined;
  const hasGrown = (volume: VolumeView | undefined) =>
    volume === undefined ||
    (conditionOf(volume, 'Ready')?.status === 'True' && (volume.status?.observedGeneration ?? 0) >= generation);
  try {
    const volume = await watchUntil(volumes, name, hasGrown, deadline.signal, (seen) => {
      last = seen;
    });
    if (volume === undefined) throw new Failure(`volume ${name} was deleted while it was waited for`);
    printLine(
      io,
      `volume.coppice.dev/${name} has ${volume.status?.size}; grow the file system in the guest that has it next`,
    );
  } catch (error) {
    if (!deadline.passed) throw error;
    const why = conditionOf(last, 'Ready');
    warn(io, `error: volume ${name} has not grown yet${why === undefined ? '' : `: ${why.message}`}`);
    throw new Exit(1);
  }
}
