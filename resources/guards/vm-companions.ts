import type { VM } from '../kinds/vm.ts';
import type { AdmissionContext, CompanionWrite } from '../meta/define-kind.ts';
import { claimCompanions } from './claim.ts';
import { moveCompanions } from './stand-in.ts';

/** What goes with a VM that takes the guest of another: its stand-in gets the one that was; a member of a pool goes at once. */
export function vmCompanions(
  after: VM | undefined,
  before: VM | undefined,
  context: AdmissionContext,
): readonly CompanionWrite[] {
  const move = moveCompanions(after, before, context);
  return move.length > 0 ? move : claimCompanions(after, before, context);
}
