import { isLost } from '../guards/host-lost.ts';
import { HOSTS, VMS } from '../guards/refs.ts';
import type { Host } from '../kinds/host.ts';
import type { VM } from '../kinds/vm.ts';
import type { Volume } from '../kinds/volume.ts';
import { isTrue } from '../meta/condition.ts';
import { mayHaveGuest, vmName } from './guest-facts.ts';
import type { Change, Finding, Invariant, Step } from './invariant.ts';
import { changeOf, changesOf, vmChangesOn } from './step-changes.ts';
import { isDataLost, nameOfVolume } from './volume-facts.ts';

const PENDING = 'ScrubPending';

/** A Host object that is made anew, after one that was given up before it was clear, waits for a scrub as that one did. */
export const scrubBeforeFree: Invariant = {
  name: 'scrub-before-free',
  sentence:
    'A host whose lease ended, or that was made anew before it was clear, takes no lease and no VM before a scrub has succeeded that began after it; but a lease of the tenant whose it was last and whose volumes it has. A scrub that succeeded leaves no volume.',

  *subjects(step) {
    for (const { key } of changesOf(step, HOSTS)) yield key;
    for (const { before, after } of changesOf(step, VMS)) {
      const host = after?.spec.hostName;
      if (host !== undefined && host !== before?.spec.hostName) yield host;
    }
  },

  findings(name, step) {
    const host = step.state.host(name);
    if (host === undefined) return [];
    const change = changeOf(step, HOSTS, name);
    return [
      ...leasedUnscrubbed(host),
      ...madeAnew(host, step),
      ...boundUnscrubbed(host, step),
      ...(change === undefined ? [] : passage(change, step)),
    ];
  },
};

function madeAnew(host: Host, { state }: Step): readonly Finding[] {
  const why = state.unclear(host.metadata.name);
  return why === undefined
    ? []
    : [about(host, 'anew', `was made anew, and does not wait for a scrub; the one before it was given up ${why}`)];
}

function leasedUnscrubbed(host: Host): readonly Finding[] {
  const claim = host.status?.lease;
  if (claim === undefined) return [];
  const whose = `is leased to ${claim.namespace} by lease ${claim.name}`;
  return [
    ...(isTrue(host, PENDING) ? [about(host, `leased ${claim.uid}`, `${whose}, and waits for a scrub`)] : []),
    // One that began before the lease ended would not have cleared what was left then.
    ...(host.status?.scrub?.outcome === 'Running'
      ? [about(host, `scrubbed ${claim.uid}`, `${whose}, and is being scrubbed`)]
      : []),
  ];
}

function boundUnscrubbed(host: Host, step: Step): readonly Finding[] {
  const anew = step.state.unclear(host.metadata.name) !== undefined;
  if (step.first || !(anew || isTrue(host, PENDING))) return [];
  const what = anew ? 'was not scrubbed since it was made anew' : 'waits for a scrub';
  const orphans = host.status?.orphans?.map(({ label }) => label).join(', ') ?? '';
  const beside = orphans === '' ? '' : ` beside guests that nobody names (${orphans})`;
  const bound = vmChangesOn(step, host.metadata.name).flatMap(({ before, after }) =>
    after?.spec.hostName === host.metadata.name && before?.spec.hostName !== host.metadata.name ? [after] : [],
  );
  return bound.map((vm) => about(host, `bound ${vm.metadata.uid}`, `took ${vmName(vm)}${beside}, and ${what}`, vm));
}

/** From leased to waiting for a scrub, and from there to free. */
function passage({ before, after }: Change<Host>, step: Step): readonly Finding[] {
  if (before === undefined || after === undefined || before.metadata.uid !== after.metadata.uid) return [];
  const { lease } = before.status ?? {};
  const found: Finding[] = [];
  if (lease !== undefined && after.status?.lease === undefined && !isTrue(after, PENDING))
    found.push(about(after, 'let go', `is not leased to ${lease.namespace} any more, and does not wait for a scrub`));
  if (isTrue(before, PENDING) && !isTrue(after, PENDING)) found.push(...freed(before, after, step));
  return found;
}

function freed(before: Host, after: Host, step: Step): readonly Finding[] {
  const { scrub, orphans = [] } = after.status ?? {};
  const what = 'does not wait for a scrub any more';
  if (after.status?.lease !== undefined && before.status?.lease === undefined) return takenBack(after, step);
  if (scrub?.outcome !== 'Succeeded')
    return [about(after, 'unscrubbed', `${what}, and its last one is ${scrub?.outcome ?? 'none'}`)];
  // Told by the order of revisions: instants are of clocks that may be set.
  if (before.status?.scrub?.outcome !== 'Running')
    return [
      about(after, 'early', `${what}, and no scrub ended with that; its last one was over at ${scrub.finishedAt}`),
    ];
  const left = step.state.vmsOn(after.metadata.name).filter((vm) => mayHaveGuest(vm) && !isLost(vm));
  const found = [
    ...left.map((vm) => about(after, `left ${vm.metadata.uid}`, `was scrubbed, and ${vmName(vm)} is there`, vm)),
    ...volumesOn(after, step).map((volume) =>
      about(after, `left ${volume.metadata.uid}`, `was scrubbed, and ${nameOfVolume(volume)} is there`),
    ),
  ];
  if (orphans.length === 0) return found;
  const names = orphans.map(({ id }) => id).join(', ');
  return [...found, about(after, 'orphans', `was scrubbed, and has guests that nobody names: ${names}`)];
}

/** Leased without a scrub: to nobody but the tenant whose it was last, and only where all that is on it is that tenant's. */
function takenBack(host: Host, step: Step): readonly Finding[] {
  const { lease, pastLeases = [] } = host.status ?? {};
  const last = pastLeases.at(-1);
  const volumes = volumesOn(host, step);
  const whose = new Set(volumes.map(({ metadata }) => metadata.namespace));
  const own = last?.namespace === lease?.namespace && last?.scrubbedAt === undefined;
  if (own && whose.size === 1 && whose.has(lease?.namespace)) return [];
  return [about(host, 'taken back', `is leased to ${lease?.namespace} without a scrub`)];
}

/** Volumes that have their data, on this very host. */
function volumesOn({ metadata }: Host, { state }: Step): readonly Volume[] {
  return state
    .volumesOn(metadata.name)
    .filter((volume) => !isDataLost(volume) && volume.status?.hostUID === metadata.uid);
}

function about({ metadata }: Host, key: string, what: string, vm?: VM): Finding {
  return {
    key,
    message: `host ${metadata.name} ${what}`,
    objects: [`host/${metadata.name}`, ...(vm === undefined ? [] : [vmName(vm)])],
  };
}
