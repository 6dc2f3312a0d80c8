import type { Target } from '../coppice-command.ts';
import type { Io } from '../io.ts';
import { get } from './get.ts';

/** Shows Volumes as `get` does. */
export async function listVolumes(
  io: Io,
  target: Target,
  { output, allNamespaces }: { readonly output: string | undefined; readonly allNamespaces: boolean },
): Promise<void> {
  await get(io, target, {
    words: ['volumes.coppice.dev'],
    output,
    allNamespaces,
    labelSelector: undefined,
    fieldSelector: undefined,
    watch: false,
    ignoreNotFound: false,
    showManagedFields: false,
  });
}
