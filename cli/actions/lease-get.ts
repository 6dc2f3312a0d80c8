import type { Target } from '../coppice-command.ts';
import type { Io } from '../io.ts';
import { get } from './get.ts';

/** Shows Leases as `get` does: all of a namespace, or one by name. */
export async function getLeases(
  io: Io,
  target: Target,
  { name, output, allNamespaces }: { name?: string; output: string | undefined; allNamespaces: boolean },
): Promise<void> {
  await get(io, target, {
    words: ['leases.coppice.dev', ...(name === undefined ? [] : [name])],
    output,
    allNamespaces,
    labelSelector: undefined,
    fieldSelector: undefined,
    watch: false,
    ignoreNotFound: false,
    showManagedFields: false,
  });
}
