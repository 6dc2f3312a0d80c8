import type { Lease } from '../kinds/lease.ts';
import { parseDuration } from '../meta/duration.ts';
import { type Guard, NO_FENCES, type Refusal } from './guard.ts';

const YEARS = 10;
const HORIZON_MS = YEARS * 366 * 24 * 3_600_000;

/** A lease ends within ten years, or is open-ended: an instant that nobody will see is a slip, and some cannot even be written. */
export const leaseHorizon: Guard<Lease> = {
  name: 'lease-horizon',
  fences: () => NO_FENCES,
  judge({ before, after }, _world, { nowMs }) {
    const { duration, release } = after?.spec ?? {};
    const tooLong =
      duration === undefined || duration === before?.spec.duration ? undefined : durationProblem(duration);
    if (duration !== undefined && tooLong !== undefined) return tooFar('spec.duration', duration, tooLong);
    const at = release?.at;
    if (at !== undefined && at !== before?.spec.release?.at && !(Date.parse(at) <= nowMs + HORIZON_MS))
      return tooFar('spec.release.at', at, `must be within ${YEARS} years`);
    return undefined;
  },
};

/** What is wrong with how long a lease lasts, if anything. */
export function durationProblem(duration: string): string | undefined {
  if ((parseDuration(duration) ?? Number.NaN) <= HORIZON_MS) return undefined;
  return `must be at most ${YEARS} years; absent means open-ended`;
}

function tooFar(field: string, value: string, why: string): Refusal {
  return { answer: 'Invalid', field, cause: 'FieldValueInvalid', message: `Invalid value: "${value}": ${why}` };
}
