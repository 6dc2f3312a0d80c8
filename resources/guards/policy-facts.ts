import type { Policy } from '../kinds/policy.ts';
import { fence, type Guard } from './guard.ts';

/** The rules of the fleet are what most guards judge by. */
export const policyFacts: Guard<Policy> = {
  name: 'policy',
  fences: () => ({ bump: [fence.policy], compare: [] }),
  judge: () => undefined,
};
