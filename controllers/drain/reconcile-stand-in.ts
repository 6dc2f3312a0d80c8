import type { ApiClient } from '../../apiserver/client/client.ts';
import { Host } from '../../resources/kinds/host.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { objectKey } from '../../resources/meta/object.ts';
import type { Outcome } from '../runtime/duty.ts';
import { deleteThis, orGone } from '../runtime/write.ts';
import type { DrainDeps } from './reconcile.ts';

/** A stand-in for which there is no more need goes: its VM is gone or going, or is not to be moved any more. */
export async function reconcileStandIn(key: string, deps: DrainDeps, signal: AbortSignal): Promise<Outcome> {
  const standIn = deps.vms.get(key);
  if (standIn?.spec.standsInFor === undefined || standIn.metadata.deletionTimestamp !== undefined) return {};
  const { name, uid } = standIn.spec.standsInFor;
  const original = deps.vms.get(objectKey({ ...standIn.metadata, name }));
  if (isToMove(original, uid, (host) => deps.hosts.get(host))) return {};
  // One cache may be behind the other: only the server can say that there is no need.
  if (await isToMoveNow(standIn, deps.client, signal)) return { again: true };
  await deleteThis(deps.client.resource<VM>(VM, standIn.metadata.namespace), standIn, signal);
  deps.log.info('stand-in of no more use', { vm: key, for: name });
  return {};
}

function isToMove(vm: VM | undefined, uid: string, host: (name: string) => Host | undefined): boolean {
  if (vm?.metadata.uid !== uid || vm.metadata.deletionTimestamp !== undefined) return false;
  return vm.spec.reschedulable === true && host(vm.spec.hostName ?? '')?.spec.drain?.mode === 'Reschedule';
}

async function isToMoveNow(standIn: VM, client: ApiClient, signal: AbortSignal): Promise<boolean> {
  const { name = '', uid = '' } = standIn.spec.standsInFor ?? {};
  const vm = await orGone(client.resource<VM>(VM, standIn.metadata.namespace).get(name, signal));
  if (vm?.spec.hostName === undefined) return false;
  const host = await orGone(client.resource<Host>(Host).get(vm.spec.hostName, signal));
  return isToMove(vm, uid, () => host);
}
