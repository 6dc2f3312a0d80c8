import type { CustomResourceDefinition } from '../../resources/kinds/custom-resource-definition.ts';
import type { Cause } from '../../resources/meta/api-error.ts';
import { invalidValue } from '../admission/causes.ts';
import { patternSize } from '../admission/pattern-size.ts';

/** How many rules a definition may have in all its versions together, and how long its patterns may be when they are written out. */
const MOST_RULES = 2_000;
const MOST_PATTERN_STEPS = 500_000;

/** A definition that would take long to compile, whatever is in its schemas. */
export function weightCauses({ versions }: CustomResourceDefinition['spec']): Cause[] {
  const weight = { rules: 0, steps: 0 };
  for (const { schema } of versions) weigh(schema, weight);
  const causes: Cause[] = [];
  if (weight.rules > MOST_RULES)
    causes.push(
      invalidValue('spec.versions', weight.rules, `must have at most ${MOST_RULES} validation rules together`),
    );
  if (weight.steps > MOST_PATTERN_STEPS) {
    const why = `must have patterns of at most ${MOST_PATTERN_STEPS} steps together, written out`;
    causes.push(invalidValue('spec.versions', weight.steps, why));
  }
  return causes;
}

function weigh(value: unknown, weight: { rules: number; steps: number }): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, part] of Object.entries(value)) {
    if (name === 'pattern' && typeof part === 'string') weight.steps += patternSize(part);
    else if (name === 'x-kubernetes-validations' && Array.isArray(part)) weight.rules += part.length;
    weigh(part, weight);
  }
}
