import type { VM } from '../../resources/kinds/vm.ts';
import { findCondition, setConditions } from '../../resources/meta/condition.ts';
import type { StatusFields } from '../runtime/write.ts';
import type { Wait } from './decide.ts';

/** The status of a VM that waits: unbound, it has no nodelet, so its phase and Ready are placement's to say. */
export function waitingStatus(vm: VM, { reason, message }: Wait, nowMs: number): StatusFields<VM> {
  return {
    phase: 'Pending',
    observedGeneration: vm.metadata.generation,
    conditions: setConditions(vm, nowMs, [
      { type: 'Scheduled', status: 'False', reason, message },
      { type: 'Ready', status: 'False', reason, message },
    ]),
  };
}

/**
 * The status of a bound VM, as far as it is placement's. Until its nodelet has said anything, Ready must not go on telling why it waited
 * for a host.
 */
export function boundStatus(vm: VM, nowMs: number): StatusFields<VM> {
  const host = vm.spec.hostName ?? '';
  const scheduled = { type: 'Scheduled', status: 'True', reason: 'Bound', message: `bound to host ${host}` } as const;
  const untouched = vm.status?.guest === undefined && (vm.status?.phase ?? 'Pending') === 'Pending';
  const waited = findCondition(vm, 'Scheduled')?.status !== 'True';
  if (!untouched || !waited) return { conditions: setConditions(vm, nowMs, [scheduled]) };
  const ready = {
    type: 'Ready',
    status: 'False',
    reason: 'Bound',
    message: `waits for the nodelet of ${host}`,
  } as const;
  return { phase: 'Pending', conditions: setConditions(vm, nowMs, [scheduled, ready]) };
}
