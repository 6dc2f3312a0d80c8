import { confirm } from '../confirm.ts';
import type { Target } from '../coppice-command.ts';
import type { Io } from '../io.ts';
import { volumeName } from '../volume-ref.ts';
import { deleteObjects } from './delete.ts';

interface VolumeDeleteOptions {
  readonly words: readonly string[];
  readonly yes: boolean;
  readonly wait: boolean;
  readonly timeout: string;
}

/** Deletes a volume with what is on it and, unless told not to, waits until it is gone. */
export async function deleteVolume(io: Io, target: Target, options: VolumeDeleteOptions): Promise<void> {
  const name = volumeName(options.words, 'volume delete');
  if (!options.yes) {
    const what = `volume ${name} and all that is on it`;
    await confirm(io, { tells: `this deletes ${what}`, asks: `Delete ${what}?`, undone: 'nothing was deleted' });
  }
  await deleteObjects(io, target, {
    words: ['volumes.coppice.dev', name],
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
