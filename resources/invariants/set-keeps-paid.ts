import { LEASE_SET_DUTY } from '../guards/lease-set.ts';
import { LEASES } from '../guards/refs.ts';
import type { Invariant } from './invariant.ts';
import { leaseName } from './lease-facts.ts';
import { changeOf, changesOf } from './step-changes.ts';

/** By the instants that the server wrote. */
export const setKeepsPaid: Invariant = {
  name: 'set-keeps-paid',
  sentence: 'A set of leases releases none whose minimum is not over.',

  *subjects(step) {
    for (const { key } of changesOf(step, LEASES)) yield key;
  },

  findings(key, step) {
    const { before, after } = changeOf(step, LEASES, key) ?? {};
    const { release } = after?.spec ?? {};
    const sameAsked = before?.spec.release?.requestedAt === release?.requestedAt;
    if (after === undefined || release?.by !== LEASE_SET_DUTY || (sameAsked && !step.first)) return [];
    const { earliestEnd, host } = after.status ?? {};
    if (Date.parse(release.requestedAt ?? '') >= Date.parse(earliestEnd ?? '')) return [];
    return [
      {
        key: 'early',
        message: `${leaseName(after)} was released by its set at ${release.requestedAt}, and its minimum is over at ${earliestEnd}`,
        objects: [leaseName(after), ...(host === undefined ? [] : [`host/${host}`])],
      },
    ];
  },
};
