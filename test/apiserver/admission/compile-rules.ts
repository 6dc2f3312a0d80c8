import { compileRulesInSteps, type RuleCheck } from '../../../apiserver/admission/cel.ts';
import { KindCompileError } from '../../../apiserver/admission/kind-compile-error.ts';

/** All steps at once. Throws a KindCompileError that names each rule which does not compile. */
export function compileRules(...asked: Parameters<typeof compileRulesInSteps>): RuleCheck | undefined {
  const steps = compileRulesInSteps(...asked);
  for (;;) {
    const { done, value } = steps.next();
    if (done !== true) continue;
    if (value.faults.length > 0) throw new KindCompileError(value.faults);
    return value.check;
  }
}
