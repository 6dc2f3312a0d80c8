import type { Host } from '../kinds/host.ts';
import type { VM } from '../kinds/vm.ts';

export type DrainMode = NonNullable<Host['spec']['drain']>['mode'];

/** What a drain does to a VM: `keep` it, `evict` it (it is deleted), or `move` it (it is started elsewhere before it ends here). */
export type DrainFate = 'keep' | 'evict' | 'move';

/** The label by which a VM says that it is not missed. */
const EPHEMERAL = 'coppice.dev/ephemeral';

/** A VM that ends by itself, says that it is not missed, or waits idle for somebody to take its guest. */
export function isEphemeral({ metadata, spec }: VM): boolean {
  return spec.ttl !== undefined || metadata.labels?.[EPHEMERAL] === 'true' || spec.claimable === true;
}

/** Who said that it may be moved is moved where that is done, though it is ephemeral too. A VM that stands in for another is of no use on a host that is drained. */
export function fateOf(vm: VM, mode: DrainMode): DrainFate {
  if (vm.spec.standsInFor !== undefined) return 'evict';
  if (mode === 'Cordon') return 'keep';
  if (mode === 'Reschedule' && vm.spec.reschedulable === true) return 'move';
  return isEphemeral(vm) ? 'evict' : 'keep';
}
