import type { StatusFields } from '../controllers/runtime/write.ts';
import { isVolumeLost, volumeBytes } from '../resources/guards/volume-facts.ts';
import type { Host } from '../resources/kinds/host.ts';
import type { VM } from '../resources/kinds/vm.ts';
import type { Volume } from '../resources/kinds/volume.ts';
import { setConditions } from '../resources/meta/condition.ts';
import { formatBytes, parseBytes } from '../resources/meta/quantity.ts';
import type { DriverCapabilities, HostCapacity, ImageFacts, ObservedGuest } from './drivers/driver.ts';
import { isOn, MACOS_SLOTS } from './guest-room.ts';
import { guestIDOf } from './plan.ts';
import type { StoreTrust } from './store-guard.ts';

export interface HostFacts {
  readonly capacity: HostCapacity;
  readonly guests: readonly ObservedGuest[];
  readonly leakedSlots: number;
}

export interface HostReport {
  readonly host: Host;
  readonly platform: { readonly os: 'darwin' | 'linux'; readonly arch: string; readonly chip?: string };
  readonly driver: { readonly name: 'sim' | 'qemu' | 'vz'; readonly capabilities: DriverCapabilities };
  /** A sentence instead, when the driver does not answer; what it told before stays in the status. */
  readonly facts: HostFacts | string;
  readonly vms: readonly VM[];
  /** Those that lie on this host. */
  readonly volumes: readonly Volume[];
  readonly images: readonly (ImageFacts & { readonly name: string })[];
  readonly reserveBytes: number;
  /** Undefined: the server could not be asked yet. */
  readonly trust: StoreTrust | undefined;
  readonly nowMs: number;
}

/**
 * What a nodelet says of its host. Pure; nothing in it moves by itself. A guest that no VM object names is taken out of what is offered to others: nobody
 * but this host knows of it, and its memory and its macOS slot are in use.
 */
export function hostStatus(report: HostReport): StatusFields<Host> {
  const { host, driver, facts, platform, images } = report;
  const { version, accelerator, acceleratorNote, guestOS, nested, volumes } = driver.capabilities;
  return {
    ...(typeof facts === 'string' ? {} : amounts(report, facts)),
    ...platform,
    nested: nested === true,
    driver: {
      name: driver.name,
      version,
      accelerator,
      ...(acceleratorNote === undefined ? {} : { acceleratorNote }),
      guestOS: [...guestOS],
      volumes: volumes === true,
    },
    images: images.map(({ name, digest, sizeBytes }) => ({
      name,
      digest,
      size: formatBytes(wholeMebibytes(sizeBytes)),
    })),
    distrustedStore: report.trust?.trusted === false ? report.trust.token : undefined,
    observedGeneration: host.metadata.generation,
    conditions: conditions(report),
  };
}

/** What guests may use of the host's memory, orphans included. */
export function guestMemoryBytes(capacity: HostCapacity, reserveBytes: number): number {
  return Math.max(0, capacity.memoryBytes - reserveBytes);
}

/** Guests that no VM object names. */
function orphansOf(guests: readonly ObservedGuest[], vms: readonly VM[]): readonly ObservedGuest[] {
  const named = new Set(vms.map(guestIDOf));
  return guests.filter((guest) => !named.has(guest.id)).sort((a, b) => (a.id < b.id ? -1 : 1));
}

function amounts(report: HostReport, { capacity, guests, leakedSlots }: HostFacts): StatusFields<Host> {
  const { vms, volumes, driver, reserveBytes } = report;
  const orphans = orphansOf(guests, vms);
  const lostBytes = sum(orphans.filter(isOn).map((guest) => guest.memoryBytes));
  const allocatableBytes = Math.max(0, guestMemoryBytes(capacity, reserveBytes) - lostBytes);
  const held = vms.filter((vm) => holds(vm, guests));
  const total = driver.capabilities.guestOS.includes('macos') ? MACOS_SLOTS : 0;
  return {
    capacity: amount(capacity.vcpus, capacity.memoryBytes, capacity.diskBytes),
    allocatable: amount(capacity.vcpus, allocatableBytes, capacity.diskBytes),
    free: amount(
      capacity.vcpus - sum(held.map((vm) => vm.spec.resolved?.vcpus ?? 0)),
      allocatableBytes - sum(held.map((vm) => bytes(vm.spec.resolved?.memory))),
      capacity.diskBytes -
        sum(vms.map((vm) => bytes(vm.spec.resolved?.disk))) -
        sum(volumes.filter((volume) => !isVolumeLost(volume)).map(volumeBytes)),
    ),
    macosSlots: {
      total: Math.max(0, total - orphans.filter(isOn).filter(isMac).length),
      used: guests.filter(isOn).filter(isMac).length - orphans.filter(isOn).filter(isMac).length,
      leaked: leakedSlots,
    },
    orphans: orphans.map(({ id, label, power }) => ({ id, label, power })),
  };
}

/** Whether a VM's guest has, or may have at any moment, processors and memory of the host. */
function holds(vm: VM, guests: readonly ObservedGuest[]): boolean {
  const guest = guests.find((other) => other.id === guestIDOf(vm));
  const wanted = vm.metadata.deletionTimestamp === undefined && vm.spec.power !== 'Stopped';
  return wanted || (guest !== undefined && isOn(guest));
}

function conditions({ host, facts, trust, nowMs }: HostReport) {
  const ready = typeof facts !== 'string';
  return setConditions(host, nowMs, [
    {
      type: 'DriverReady',
      status: ready ? 'True' : 'False',
      reason: ready ? 'DriverAnswers' : 'DriverFailed',
      message: ready ? 'the driver answers' : facts,
    },
    ...(trust === undefined
      ? []
      : [
          {
            type: 'StoreRolledBack',
            status: trust.trusted ? ('False' as const) : ('True' as const),
            reason: trust.trusted ? 'SameStore' : 'StoreRolledBack',
            message: trust.trusted
              ? 'the store is the one seen before'
              : `${trust.message}: coppice host trust-store ${host.metadata.name}`,
          },
        ]),
  ]);
}

function amount(vcpus: number, memoryBytes: number, diskBytes: number) {
  return {
    vcpus: Math.max(0, vcpus),
    memory: formatBytes(Math.max(0, memoryBytes)),
    disk: formatBytes(Math.max(0, diskBytes)),
  };
}

function bytes(quantity: string | undefined): number {
  return parseBytes(quantity ?? '0') ?? 0;
}

function isMac(guest: ObservedGuest): boolean {
  return guest.guestOS === 'macos';
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a + b, 0);
}

/** What an image takes on disk, for people: rounded up. */
function wholeMebibytes(bytes: number): number {
  return Math.ceil(bytes / 1024 ** 2) * 1024 ** 2;
}
