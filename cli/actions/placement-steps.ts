import type { HostFilter } from '../../resources/guards/host-guard.ts';
import type { VM } from '../../resources/kinds/vm.ts';
import type { Replay } from '../../resources/placement/replay.ts';

type Step = (vm: VM, host: string) => string;

/** What may help against a filter; `host` is one that it turned down. */
const FILTER_STEPS: Readonly<Record<HostFilter, Step>> = {
  VolumeNotFound: (vm) => `make the volume: coppice volume create NAME --size 50Gi -n ${vm.metadata.namespace}`,
  VolumeNotReady: (vm) => `see what it waits for: coppice volume list -n ${vm.metadata.namespace} -o wide`,
  VolumeElsewhere: () => 'it runs where its volumes lie; name volumes that lie on one host',
  VolumesUnsupported: () => 'its volumes need a Linux image, and a host whose driver attaches volumes',
  NotReady: (_, host) => `see why: coppice describe host/${host}; its nodelet may be down`,
  Draining: (_, host) => `an operator ends the drain: coppice uncordon ${host}`,
  Cordoned: (_, host) => `an operator lets it take VMs again: coppice uncordon ${host}`,
  ScrubPending: (_, host) => `an operator clears it: coppice scrub ${host}`,
  SelectorMismatch: (_, host) => `change spec.hostSelector, or label a host: kubectl label host ${host} KEY=VALUE`,
  GroupMismatch: (vm) =>
    `an operator adds hosts to the group of tenant ${vm.metadata.namespace}, or changes its spec.hostGroup`,
  GuestOSUnsupported: (vm) =>
    `it needs a host that runs the guests of image ${vm.spec.image}: coppice get image ${vm.spec.image} -o yaml`,
  ImageMissing: (vm) => `see which hosts have it: coppice describe image/${vm.spec.image}`,
  LeasedToOthers: (vm) => `lease a host of your own: coppice lease create -n ${vm.metadata.namespace}`,
  LeaseRequired: (vm) => `lease a Mac: coppice lease create -n ${vm.metadata.namespace} --wait`,
  LeaseEnding: (vm) => `take another lease: coppice lease create -n ${vm.metadata.namespace} --wait`,
  MacSlotLimit: (vm) =>
    `stop or delete one of your macOS VMs, or lease another Mac: coppice lease create -n ${vm.metadata.namespace}`,
  InsufficientMemory: () =>
    'ask for less in spec.size, free some, or add a host: coppice rebalance --dry-run tells what could give way',
  InsufficientVCPUs: () => 'ask for less in spec.size, use class flex, free some, or add a host',
};

/** What may help against what turned no host down in particular. */
const OTHER_STEPS: Readonly<Record<string, Step>> = {
  NoHosts: () => 'add a host: coppice host token HOST says how it is let in',
  TenantNotFound: (vm) => `an operator makes the tenant: coppice tenant create ${vm.metadata.namespace}`,
  TenantDisabled: (vm) => `an operator lets it in again: coppice tenant enable ${vm.metadata.namespace}`,
  ImageNotFound: () => 'see which images there are: coppice get images',
  ImageNotReady: (vm) => `put the image onto a host; see coppice describe image/${vm.spec.image}`,
  QuotaExceeded: (vm) => `stop or delete a VM, or have the quota raised: coppice tenant get ${vm.metadata.namespace}`,
};

/** The likely next step for a VM that waits; undefined where nothing but time helps. */
export function nextStep(reason: string, vm: VM, now: Replay | undefined): string | undefined {
  const steps: Readonly<Record<string, Step>> = { ...OTHER_STEPS, ...FILTER_STEPS };
  const host = now?.hosts.find(({ refusal }) => refusal?.filter === reason)?.host ?? 'HOST';
  return Object.hasOwn(steps, reason) ? steps[reason]?.(vm, host) : undefined;
}
