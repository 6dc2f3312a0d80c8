import type { Host } from '../kinds/host.ts';
import type { Image } from '../kinds/image.ts';
import type { VM } from '../kinds/vm.ts';
import type { Volume } from '../kinds/volume.ts';
import { isTrue } from '../meta/condition.ts';
import type { KubeObject } from '../meta/object.ts';
import { type Change, fence, type Guard, NO_FENCES, type Refusal } from './guard.ts';
import { TENANTS } from './refs.ts';
import { countOf, namesOf, vmsUsing } from './vms-using.ts';
import { volumesText } from './volumes-text.ts';
import type { WorldView } from './world.ts';

/** A Host that is Ready stays while VMs are bound to it, or while it is leased; deleting one that is not, or may be forgotten, is how a host is given up. */
export const hostInUse: Guard<Host> = {
  name: 'host-in-use',
  fences: (change) => (ends(change) ? { bump: [fence.host(nameOf(change))], compare: [] } : NO_FENCES),
  judge(change, world) {
    const { before } = change;
    if (!ends(change) || before === undefined || !isTrue(before, 'Ready') || before.spec.forget === true)
      return undefined;
    const lease = before.status?.lease;
    if (lease !== undefined) {
      const message = `it is leased to ${lease.namespace} (lease ${lease.name}); end the lease first, or give the host up: coppice host forget ${nameOf(change)} --force`;
      return { answer: 'Forbidden', cause: 'HostInUse', message };
    }
    const bound = vmsUsing(world, (vm) => vm.spec.hostName === nameOf(change));
    if (bound.length === 0) return volumesRemain([...world.volumesOn(nameOf(change))], nameOf(change));
    const vms = bound.length === 1 ? 'the VM' : 'the VMs';
    const message = `${countOf(bound)} bound to it (${namesOf(bound)}); delete ${vms} first, or give the host up, and ${bound.length === 1 ? 'the VM' : 'them'} with it: coppice host forget ${nameOf(change)} --force`;
    return { answer: 'Forbidden', cause: 'HostInUse', message };
  },
};

function volumesRemain(volumes: readonly Volume[], host: string): Refusal | undefined {
  if (volumes.length === 0) return undefined;
  const them = volumes.length === 1 ? 'it' : 'them';
  const message = `${volumesText(volumes)} on it; delete ${them} first, or give the host up, and ${them} with it: coppice host forget ${host} --force`;
  return { answer: 'Forbidden', cause: 'HostInUse', message };
}

/**
 * An Image stays while VMs of it stay: one that is started again needs it. Those that are on their way out do not, nor those of a tenant that is, so
 * that all of a manifest can be deleted at once.
 */
export const imageInUse: Guard<Image> = {
  name: 'image-in-use',
  fences: (change) => (ends(change) ? { bump: fence.images(nameOf(change)), compare: [] } : NO_FENCES),
  judge(change, world) {
    if (!ends(change)) return undefined;
    const stays = (vm: VM) => vm.metadata.deletionTimestamp === undefined && !tenantEnds(vm, world);
    const using = vmsUsing(
      world,
      (vm) => vm.spec.image === nameOf(change) && vm.spec.resolved !== undefined && stays(vm),
    );
    if (using.length === 0) return undefined;
    const message = `${countOf(using)} made from it (${namesOf(using)}); ${removal(using)}`;
    return { answer: 'Forbidden', cause: 'ImageInUse', message };
  },
};

/** A VM that is admitted comes to use its image, so the image may not go at the same moment. */
export const imageUse: Guard<VM> = {
  name: 'image-use',
  fences({ before, after }) {
    const admitted = before?.spec.resolved === undefined && after?.spec.resolved !== undefined;
    return admitted ? { bump: [fence.image(after.spec.image, after.metadata.uid)], compare: [] } : NO_FENCES;
  },
  judge: () => undefined,
};

function tenantEnds(vm: VM, world: WorldView): boolean {
  return world.get(TENANTS, undefined, vm.metadata.namespace ?? '')?.metadata.deletionTimestamp !== undefined;
}

/** Whether the object is deleted by the change, or begins to be. */
function ends({ before, after }: Change): boolean {
  if (before === undefined || before.metadata.deletionTimestamp !== undefined) return false;
  return after === undefined || after.metadata.deletionTimestamp !== undefined;
}

function nameOf({ before, after }: Change): string {
  return (before ?? after)?.metadata.name ?? '';
}

function removal(vms: readonly KubeObject[]): string {
  return `delete ${vms.length === 1 ? 'it' : 'them'} first`;
}
