import type { Outcome } from '../runtime/duty.ts';
import { type LeaseDeps, PASS } from './lease-deps.ts';
import { reconcileClaim, reconcileLease } from './reconcile-end.ts';
import { pass } from './reconcile-grant.ts';

export function reconcile(key: string, deps: LeaseDeps, signal: AbortSignal): Promise<Outcome> {
  if (key === PASS) return pass(deps, signal);
  return key.includes('/') ? reconcileLease(key, deps, signal) : reconcileClaim(key, deps, signal);
}
