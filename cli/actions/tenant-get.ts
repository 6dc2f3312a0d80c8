import type { Target } from '../coppice-command.ts';
import type { Io } from '../io.ts';
import { get } from './get.ts';

/** Shows Tenants as `get` does: all, or one by name. */
export async function getTenants(
  io: Io,
  target: Target,
  { name, output }: { name?: string; output: string | undefined },
): Promise<void> {
  await get(io, target, {
    words: ['tenants.coppice.dev', ...(name === undefined ? [] : [name])],
    output,
    allNamespaces: false,
    labelSelector: undefined,
    fieldSelector: undefined,
    watch: false,
    ignoreNotFound: false,
    showManagedFields: false,
  });
}
