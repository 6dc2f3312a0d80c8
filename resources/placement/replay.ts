import { type HostFilter, hostRefusal } from '../guards/host-guard.ts';
import { resolveVM } from '../guards/vm-admission.ts';
import type { WorldView } from '../guards/world.ts';
import type { Host } from '../kinds/host.ts';
import type { VM } from '../kinds/vm.ts';
import { type Bind, decide, isPaidFor, type Wait } from './decide.ts';

/** What one host comes to for a VM. */
export interface HostVerdict {
  readonly host: string;
  /** Absent: it fits. */
  readonly refusal?: { readonly filter: HostFilter; readonly message: string };
  /** Whether the VM is bound to it. */
  readonly own: boolean;
  readonly paidFor: boolean;
}

export interface Replay {
  /** What placement would decide; undefined for a VM that is bound or on its way out, of which it decides nothing. */
  readonly decision: Bind | Wait | undefined;
  /** By name. Empty while the VM is not admitted: nobody knows yet what it needs. */
  readonly hosts: readonly HostVerdict[];
}

/**
 * What placement would say of a VM now, by the functions it decides with. Where more hosts fit than it looks at, it may choose another of those that fit. A
 * bound VM is judged as if it came to each host anew, without its own share of the one it is on.
 */
export function replay(vm: VM, world: WorldView, hosts: readonly Host[]): Replay {
  const sorted = [...hosts].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const waits = vm.spec.hostName === undefined && vm.metadata.deletionTimestamp === undefined;
  const decision = waits ? decide(vm, world, sorted) : undefined;
  const resolved = vm.spec.resolved ?? resolveVM(vm, world);
  if (!('digest' in resolved)) return { decision, hosts: [] };
  const wish = { vm: { ...vm, spec: { ...vm.spec, resolved } }, resolved };
  const verdicts = sorted.map((host): HostVerdict => {
    const refusal = hostRefusal(wish, host, world);
    const own = vm.spec.hostName === host.metadata.name;
    const about = { host: host.metadata.name, own, paidFor: isPaidFor(host, vm, world) };
    return refusal === undefined ? about : { ...about, refusal };
  });
  return { decision, hosts: verdicts };
}
