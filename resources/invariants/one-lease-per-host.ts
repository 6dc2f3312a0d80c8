import { HOSTS, LEASES } from '../guards/refs.ts';
import type { Host } from '../kinds/host.ts';
import type { Lease } from '../kinds/lease.ts';
import type { Finding, Invariant } from './invariant.ts';
import { isHeld, leaseName } from './lease-facts.ts';
import { changesOf } from './step-changes.ts';

/** Of Lease objects, and of what hosts say: the two are written in one transaction, so at no revision do they differ. */
export const oneLeasePerHost: Invariant = {
  name: 'one-lease-per-host',
  sentence: 'A host has one active lease at most, and says which.',

  *subjects(step) {
    for (const { key } of changesOf(step, HOSTS)) yield key;
    for (const { before, after } of changesOf(step, LEASES)) {
      for (const lease of [before, after]) if (lease?.status?.host !== undefined) yield lease.status.host;
    }
  },

  findings(name, { state }) {
    const host = state.host(name);
    const held = state.leasesOn(name).filter((lease) => isHeld(lease) && isOf(lease, host));
    return [...double(name, held), ...(host === undefined ? [] : [...unsaid(host, held), ...unfounded(host, held)])];
  },
};

/** A host that was made anew under its name is another one. */
function isOf({ status }: Lease, host: Host | undefined): boolean {
  return status?.hostUID === undefined || host === undefined || status.hostUID === host.metadata.uid;
}

function double(host: string, held: readonly Lease[]): readonly Finding[] {
  if (held.length < 2) return [];
  const names = held.map((lease) => `${leaseName(lease)} (${lease.status?.phase})`).sort();
  return [
    {
      key: 'double',
      message: `host ${host} has ${held.length} leases at once: ${names.join(', ')}`,
      objects: [`host/${host}`, ...held.map(leaseName).sort()],
    },
  ];
}

function unsaid({ metadata, status }: Host, held: readonly Lease[]): readonly Finding[] {
  const claim = status?.lease;
  return held
    .filter((lease) => lease.metadata.uid !== claim?.uid)
    .map((lease) => ({
      key: `unsaid ${lease.metadata.uid}`,
      message: `${leaseName(lease)} is ${lease.status?.phase} on host ${metadata.name}, which says it is ${
        claim === undefined ? 'not leased' : `leased to ${claim.namespace} by lease ${claim.name}`
      }`,
      objects: [`host/${metadata.name}`, leaseName(lease)],
    }));
}

function unfounded({ metadata, status }: Host, held: readonly Lease[]): readonly Finding[] {
  const claim = status?.lease;
  if (claim === undefined || claim.released === true) return [];
  if (held.some((lease) => lease.metadata.uid === claim.uid)) return [];
  return [
    {
      key: `unfounded ${claim.uid}`,
      message: `host ${metadata.name} says it is leased to ${claim.namespace} by lease ${claim.name} (${claim.uid}), which is not active on it`,
      objects: [`host/${metadata.name}`, `lease/${claim.namespace}/${claim.name}`],
    },
  ];
}
