import type { VM } from '../../resources/kinds/vm.ts';
import { findCondition, setConditions } from '../../resources/meta/condition.ts';
import type { Wait } from '../../resources/placement/decide.ts';
import type { Placement } from '../../resources/placement/explanation.ts';
import type { StatusFields } from '../runtime/write.ts';

/** The status of a VM that waits: unbound, it has no nodelet, so its phase and Ready are placement's to say. */
export function waitingStatus(vm: VM, { reason, message, placement }: Wait, nowMs: number): StatusFields<VM> {
  return {
    phase: 'Pending',
    observedGeneration: vm.metadata.generation,
    placement,
    conditions: setConditions(vm, nowMs, [
      { type: 'Scheduled', status: 'False', reason, message },
      { type: 'Ready', status: 'False', reason, message },
    ]),
  };
}

/**
 * The status of a bound VM, as far as it is placement's. Until its nodelet has said anything, Ready must not go on telling why it waited
 * for a host. `decided` is why it is this host, where this process knows; what was kept of another decision is not about this binding.
 */
export function boundStatus(vm: VM, decided: Placement | undefined, nowMs: number): StatusFields<VM> {
  const host = vm.spec.hostName ?? '';
  const placement = [decided, vm.status?.placement].find((each) => each?.host === host);
  const scheduled = { type: 'Scheduled', status: 'True', reason: 'Bound', message: `bound to host ${host}` } as const;
  const untouched = vm.status?.guest === undefined && (vm.status?.phase ?? 'Pending') === 'Pending';
  const waited = findCondition(vm, 'Scheduled')?.status !== 'True';
  if (!untouched || !waited) return { placement, conditions: setConditions(vm, nowMs, [scheduled]) };
  const ready = {
    type: 'Ready',
    status: 'False',
    reason: 'Bound',
    message: `waits for the nodelet of ${host}`,
  } as const;
  return { phase: 'Pending', placement, conditions: setConditions(vm, nowMs, [scheduled, ready]) };
}
