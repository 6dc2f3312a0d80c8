import type { Image } from '../kinds/image.ts';
import type { Pool } from '../kinds/pool.ts';
import type { VM } from '../kinds/vm.ts';
import type { AdmissionContext } from '../meta/define-kind.ts';
import { encodeJson } from '../meta/json.ts';
import { isObject } from '../meta/object.ts';
import { parseBytes } from '../meta/quantity.ts';
import { claimRecord } from './claim.ts';
import { type Guard, NO_FENCES, type Refusal } from './guard.ts';
import { holding } from './holding.ts';
import { IMAGES, TENANTS } from './refs.ts';
import { admitMove } from './stand-in.ts';
import type { WorldView } from './world.ts';

/** Keeps a VM object until its guest is gone; removed by its nodelet, or by vm-lifecycle when it was never bound. */
export const GUEST_FINALIZER = 'coppice.dev/guest';

/** Sizes by name: vCPUs and memory (features G2). */
const SIZES = {
  small: { vcpus: 2, memory: '4Gi' },
  medium: { vcpus: 4, memory: '8Gi' },
  large: { vcpus: 8, memory: '16Gi' },
} as const;

/** Why a VM holds nothing yet. */
type NotAdmitted = {
  readonly reason: 'TenantNotFound' | 'ImageNotFound' | 'ImageNotReady';
  readonly message: string;
};

/** What a VM comes to once its tenant and its image are there. */
export function resolveVM(vm: VM, world: WorldView): NonNullable<VM['spec']['resolved']> | NotAdmitted {
  const namespace = vm.metadata.namespace ?? '';
  if (world.get(TENANTS, undefined, namespace) === undefined) {
    return { reason: 'TenantNotFound', message: `no Tenant is named ${namespace}; the VM waits for it` };
  }
  const image = world.get(IMAGES, undefined, vm.spec.image);
  if (image === undefined)
    return { reason: 'ImageNotFound', message: `no Image is named ${vm.spec.image}; the VM waits for it` };
  const digest = image.status?.digest;
  if (digest === undefined) {
    return {
      reason: 'ImageNotReady',
      message: `no host has found image ${vm.spec.image} yet (path ${image.spec.source.path})`,
    };
  }
  return { digest, guestOS: image.spec.guestOS, ...sizeOf(vm, image) };
}

/** How large a VM is, or a member of a Pool. */
export function sizeOf(
  vm: { readonly spec: Pick<VM['spec'], 'size'> },
  image: Pick<Image, 'spec'>,
): { vcpus: number; memory: string; disk?: string } {
  const named = typeof vm.spec.size === 'string' ? SIZES[vm.spec.size as keyof typeof SIZES] : undefined;
  const own = typeof vm.spec.size === 'object' ? vm.spec.size : undefined;
  const disk = own?.disk ?? image.spec.defaults?.disk;
  return {
    vcpus: named?.vcpus ?? own?.vcpus ?? image.spec.defaults?.vcpus ?? 4,
    memory: named?.memory ?? own?.memory ?? image.spec.defaults?.memory ?? '8Gi',
    ...(disk === undefined ? {} : { disk }),
  };
}

/**
 * Admission of a VM: its guestID from the start, its finalizer while it lives, and what it resolves to at creation, or else when it is bound; then never again.
 * Any other write leaves a VM that waits as it is: it must not come to hold quota, or be refused for it, because somebody set a label.
 */
export function admitVM(wanted: VM, previous: VM | undefined, context: AdmissionContext): VM {
  const { world } = context;
  const draft = admitMove(wanted, previous, context);
  const spec = { ...draft.spec, guestID: draft.spec.guestID ?? draft.metadata.uid };
  // Of a size that is refused in a moment nothing is made; else what is told to be wrong is a field that nobody wrote.
  const admits = (previous === undefined || draft.spec.hostName !== undefined) && wrongSize(draft) === undefined;
  if (admits && spec.resolved === undefined && draft.metadata.deletionTimestamp === undefined) {
    const resolved = resolveVM(draft, world);
    if ('digest' in resolved) spec.resolved = resolved;
  }
  const fromPool = claimRecord({ ...draft, spec }, previous, context);
  if (fromPool !== undefined) spec.fromPool = fromPool;
  return holding({ ...draft, spec }, GUEST_FINALIZER);
}

/** `spec.size` is a known word, or whole numbers within limits: 1-256 vCPUs, memory and disk as quantities. */
export const knownSize: Guard<VM | Pool> = {
  name: 'known-size',
  fences: () => NO_FENCES,
  judge: ({ after }) => (after === undefined ? undefined : wrongSize(after)),
};

function wrongSize({ spec }: VM | Pool): Refusal | undefined {
  const size: unknown = spec.size;
  if (size === undefined) return undefined;
  if (typeof size === 'string') {
    const names = Object.keys(SIZES);
    return names.includes(size)
      ? undefined
      : wrong('spec.size', size, `must be ${names.join(', ')}, or an object with vcpus, memory and disk`);
  }
  if (!isObject(size)) return wrong('spec.size', size, 'must be a name or an object with vcpus, memory and disk');
  return wrongPart(size);
}

function wrongPart(size: Record<string, unknown>): Refusal | undefined {
  for (const [name, value] of Object.entries(size)) {
    const field = `spec.size.${name}`;
    if (name === 'vcpus') {
      if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > 256) {
        return wrong(field, value, 'must be a whole number from 1 to 256');
      }
    } else if (name === 'memory' || name === 'disk') {
      if (typeof value !== 'string' || (parseBytes(value) ?? 0) === 0)
        return wrong(field, value, 'must be a quantity such as 8Gi');
    } else {
      return wrong(field, value, 'there is no such field; vcpus, memory and disk make a size');
    }
  }
  return undefined;
}

function wrong(field: string, value: unknown, why: string): Refusal {
  return {
    answer: 'Invalid',
    field,
    cause: 'FieldValueInvalid',
    message: `Invalid value: ${encodeJson(value)}: ${why}`,
  };
}
