import { rfc3339 } from '../../resources/ambient/clock.ts';
import { SCRUB_PENDING } from '../../resources/guards/host-scrub.ts';
import type { Host } from '../../resources/kinds/host.ts';
import { findCondition } from '../../resources/meta/condition.ts';

export type ScrubReport = NonNullable<NonNullable<Host['status']>['scrub']>;

/** A scrub that is to be answered. */
export interface ScrubRequest {
  readonly requestedAt: string;
  readonly force: boolean;
  /** Whether the policy asks, and no operator. */
  readonly automatic: boolean;
  /** The operator. */
  readonly by?: string | undefined;
}

/**
 * What is asked for and not answered yet: by the operator, later than what was answered last; else what waits already, while it is still wanted; else, in
 * automatic mode, a scrub for each time the host came to wait for one. One that failed is not tried again until somebody asks.
 */
export function openRequest(host: Host, automatic: boolean): ScrubRequest | undefined {
  const { scrub: wish } = host.spec;
  const last = host.status?.scrub;
  const byOperator = wish && {
    requestedAt: wish.requestedAt,
    force: wish.force === true,
    automatic: false,
    by: wish.by,
  };
  if (byOperator !== undefined && (last === undefined || isLater(byOperator.requestedAt, last.requestedAt)))
    return byOperator;
  if (last?.outcome === 'Waiting' && last.automatic !== true)
    return byOperator?.requestedAt === last.requestedAt ? byOperator : undefined;
  const pending = findCondition(host, SCRUB_PENDING);
  if (!automatic || pending?.status !== 'True') return undefined;
  if (last?.outcome === 'Waiting') return { requestedAt: last.requestedAt, force: false, automatic: true };
  return isAnswerTo(pending.lastTransitionTime, last) ? undefined : newRequest(pending.lastTransitionTime, last);
}

/** Whether the last scrub was about the host's waiting since then. With success it stops waiting, so if it waits after one it waits anew. */
function isAnswerTo(waitsSince: string, last: ScrubReport | undefined): boolean {
  if (last === undefined || last.outcome === 'Succeeded') return false;
  return last.finishedAt === undefined || !isLater(waitsSince, last.finishedAt);
}

function newRequest(waitsSince: string, last: ScrubReport | undefined): ScrubRequest {
  const afterLast = last === undefined ? 0 : Date.parse(last.requestedAt) + 1000;
  return {
    requestedAt: rfc3339(Math.max(Date.parse(waitsSince), afterLast)),
    force: false,
    automatic: true,
  };
}

function isLater(a: string, b: string): boolean {
  return Date.parse(a) > Date.parse(b);
}
