import type { Host } from '../../resources/kinds/host.ts';
import type { VM } from '../../resources/kinds/vm.ts';
import type { Volume } from '../../resources/kinds/volume.ts';
import { findCondition } from '../../resources/meta/condition.ts';
import { objectKey } from '../../resources/meta/object.ts';
import { replay } from '../../resources/placement/replay.ts';
import { listAll } from '../list-all.ts';
import type { FleetRead } from '../read-fleet.ts';
import type { Session } from '../session.ts';
import { VMS } from '../vm-ref.ts';
import { VOLUMES } from '../volume-ref.ts';

/** What may help a VM whose volumes are not ready, by what each of them is; undefined: nothing is known that does. */
export async function volumeStep(vm: VM, session: Session): Promise<string | undefined> {
  const named = new Set(vm.spec.volumes?.map(({ name }) => name));
  const { namespace } = vm.metadata;
  const { items } = await listAll(session.client.resource<Volume>(VOLUMES, namespace), {}, session.io.signal);
  for (const { metadata, spec, status } of items.filter(({ metadata }) => named.has(metadata.name))) {
    if (status?.phase === 'Stranded')
      return `lease the host that ${metadata.name} lies on: coppice lease create --host ${spec.hostName} -n ${namespace}`;
    if (status?.phase === 'Lost')
      return `its data is gone; delete it, and make it anew: coppice volume delete ${metadata.name} -n ${namespace}`;
  }
  return undefined;
}

/** A host that a VM would fit on were it not cordoned. */
export function uncordonStep(vm: VM, { world, hosts }: FleetRead): string | undefined {
  const host = hosts.filter(isCordoned).find((each) => {
    const { cordoned: _, ...spec } = each.spec;
    return replay(vm, world, [{ ...each, spec }]).hosts[0]?.refusal === undefined;
  });
  return host && `it would fit on ${host.metadata.name}, which is cordoned: coppice uncordon ${host.metadata.name}`;
}

const isCordoned = ({ spec }: Host): boolean => spec.cordoned === true && spec.drain === undefined;

/** What the drain of its host makes of a VM that is bound, and what may help; undefined: its host is not drained, or keeps it. */
export async function moveOf(
  vm: VM,
  session: Session,
  fleet: FleetRead | undefined,
): Promise<{ readonly now: string; readonly next?: string } | undefined> {
  const { namespace, uid } = vm.metadata;
  const host = fleet?.hosts.find(({ metadata }) => metadata.name === vm.spec.hostName);
  const vms = await listAll(session.client.resource<VM>(VMS, namespace), {}, session.io.signal);
  const standIn = vms.items.find(({ spec }) => spec.standsInFor?.uid === uid);
  const waiting = host?.status?.drain?.waiting?.find((each) => each.vm === objectKey(vm.metadata));
  if (standIn === undefined && waiting === undefined) return undefined;
  const moved = standIn === undefined ? '' : `: ${standIn.metadata.name} is started elsewhere to take over`;
  const why = waiting?.reason ?? (standIn && findCondition(standIn, 'Scheduled')?.message);
  const now = `host ${vm.spec.hostName} is drained${moved}${why === undefined ? '' : `; it waits: ${why}`}`;
  if (standIn !== undefined && standIn.spec.hostName === undefined)
    return {
      now,
      next: `see why ${standIn.metadata.name} waits: coppice explain-placement ${standIn.metadata.name} -n ${namespace}`,
    };
  const next = host && `see how far it is: coppice drain-status ${host.metadata.name}`;
  return next === undefined ? { now } : { now, next };
}
