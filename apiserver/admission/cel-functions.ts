import { Environment, type Optional } from '@marcbachmann/cel-js';
import type { Duration } from '@marcbachmann/cel-js/evaluator';
import { sameValue } from './cel-library/compare.ts';
import { registerLists } from './cel-library/lists.ts';
import { registerNamedFormat } from './cel-library/named-format.ts';
import { registerNet } from './cel-library/net.ts';
import { registerQuantity } from './cel-library/quantity.ts';
import { patternFor, registerStrings } from './cel-library/strings.ts';
import { registerUrl } from './cel-library/url.ts';
import type { CelMeter } from './cel-meter.ts';

const OPTIONS = {
  enableOptionalTypes: true,
  homogeneousAggregateLiterals: false,
  limits: { maxAstNodes: 10_000, maxDepth: 100 },
} as const;

/** An environment that checks rules as users write them. */
export function checkingEnvironment(): Environment {
  const environment = new Environment(OPTIONS);
  // Only checked here: where rules run, `meteredRule` has made it the method.
  environment.registerFunction('matches(string, string): bool', () => true);
  return withLibrary(environment, undefined);
}

/** An environment that runs rules as `meteredRule` rewrites them: safe patterns, every loop paid for. */
export function meteredEnvironment(meter: CelMeter): Environment {
  const environment = new Environment({ ...OPTIONS, limits: { maxAstNodes: 100_000, maxDepth: 1_000 } })
    .registerFunction('visit(dyn): dyn', (value: unknown) => meter.visit(value))
    .registerFunction('walk(dyn, int): dyn', (list: unknown, steps: bigint) => meter.walk(list, Number(steps)))
    .registerFunction('weigh(dyn): dyn', (value: unknown) => meter.weigh(value))
    .registerFunction('zoned(dyn): dyn', (value: unknown) => {
      meter.charge(STEPS_A_ZONE);
      return value;
    })
    .registerFunction('spread(dyn): dyn', (value: unknown) => {
      if (typeof value === 'string') meter.charge(Math.ceil(value.length / 4));
      return meter.visit(value);
    })
    .registerFunction('string.re2matches(string): bool', (text: string, pattern: string) =>
      patternFor(pattern, meter).test(text),
    )
    .registerFunction('safeDuration(string): google.protobuf.Duration', safeDuration);
  return withLibrary(environment, meter);
}

/** Finding the hour in a time zone takes as long as visiting this many items. */
const STEPS_A_ZONE = 1_000;
const MAX_DURATION_LENGTH = 128;
const DURATIONS = new Environment().registerVariable('text', 'string').parse('duration(text)');

/** The evaluator's own takes time by the cube of digits that end in no unit. */
function safeDuration(text: string): Duration {
  if (text.length > MAX_DURATION_LENGTH) throw new Error('Invalid duration string: it is too long');
  const duration: Duration = DURATIONS({ text });
  return duration;
}

function sameOptional(a: Optional, b: Optional, meter: CelMeter | undefined): boolean {
  if (!a.hasValue() || !b.hasValue()) return a.hasValue() === b.hasValue();
  meter?.weigh(a.value());
  return sameValue(a.value(), b.value());
}

function withLibrary(environment: Environment, meter: CelMeter | undefined): Environment {
  const charge = (steps: number) => meter?.charge(steps);
  environment.registerOperator('optional<A> == optional<A>', (a: Optional, b: Optional) => sameOptional(a, b, meter));
  registerStrings(environment, meter);
  registerLists(environment, meter);
  registerQuantity(environment, charge);
  registerNet(environment, charge);
  registerUrl(environment, charge);
  registerNamedFormat(environment, charge);
  return environment;
}
