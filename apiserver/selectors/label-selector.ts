import { LabelSelectorParser } from './label-selector-parser.ts';

export type LabelOperator = 'exists' | '!' | '=' | '==' | '!=' | 'in' | 'notin' | 'gt' | 'lt';

/** One condition on labels. */
export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  /** Sorted, each once. */
  readonly values: readonly string[];
}

type Labels = Readonly<Record<string, string>>;

/** A label selector as it stands in a query: every requirement must hold. */
interface LabelSelectorQuery {
  readonly text: string;
  readonly requirements: readonly LabelRequirement[];
  matches(labels: Labels | undefined): boolean;
}

/** Parses `a`, `!a`, `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b)`, `a>1`, `a<1` and comma-joined lists of them. Throws BadRequest. */
export function parseLabelSelector(text: string): LabelSelectorQuery {
  const requirements = new LabelSelectorParser(text).requirements();
  return {
    text,
    requirements,
    matches: (labels) => requirements.every((requirement) => holds(requirement, labels ?? {})),
  };
}

function holds({ key, operator, values }: LabelRequirement, labels: Labels): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case 'exists':
      return value !== undefined;
    case '!':
      return value === undefined;
    case '=':
    case '==':
    case 'in':
      return value !== undefined && values.includes(value);
    case '!=':
    case 'notin':
      return value === undefined || !values.includes(value);
    case 'gt':
    case 'lt':
      return value !== undefined && compares(operator, value, values[0] ?? '');
    default:
      throw new Error(`unhandled operator ${operator satisfies never}`);
  }
}

/** Labels that are no integers are neither greater nor less. */
function compares(operator: 'gt' | 'lt', value: string, bound: string): boolean {
  if (!isInt64(value)) return false;
  return operator === 'gt' ? BigInt(value) > BigInt(bound) : BigInt(value) < BigInt(bound);
}

/** Whether a text is an integer of 64 bits. */
export function isInt64(text: string): boolean {
  return /^-?[0-9]{1,19}$/.test(text) && BigInt.asIntN(64, BigInt(text)) === BigInt(text);
}
