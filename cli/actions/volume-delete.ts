import { confirm } from '../confirm.ts';
import type { Target } from '../coppice-command.ts';
import { usage } from '../failure.ts';
import type { Io } from '../io.ts';
import { volumeName } from '../volume-ref.ts';
import { deleteObjects } from './delete.ts';

interface VolumeDeleteOptions {
  readonly words: readonly string[];
  readonly yes: boolean;
  readonly wait: boolean;
  readonly timeout: string;
}

/** Deletes volumes with what is on them and, unless told not to, waits until they are gone. */
export async function deleteVolume(io: Io, target: Target, options: VolumeDeleteOptions): Promise<void> {
  if (options.words.length === 0) throw usage('name the volume', 'volume delete');
  const names = options.words.map((word) => volumeName([word], 'volume delete'));
  if (!options.yes) {
    const what =
      names.length === 1
        ? `volume ${names[0]} and all that is on it`
        : `${names.length} volumes (${names.join(', ')}) and all that is on them`;
    await confirm(io, { tells: `this deletes ${what}`, asks: `Delete ${what}?`, undone: 'nothing was deleted' });
  }
  await deleteObjects(io, target, {
    words: ['volumes.coppice.dev', ...names],
    files: [],
    kustomize: undefined,
    recursive: false,
    labelSelector: undefined,
    all: false,
    wait: options.wait,
    timeout: options.timeout,
    ignoreNotFound: false,
    dryRun: false,
    yes: true,
  });
}
