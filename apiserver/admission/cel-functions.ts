import { Environment } from '@marcbachmann/cel-js';
import type { CelMeter } from './cel-meter.ts';
import { compilePattern, type SafePattern } from './safe-pattern.ts';

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
    .registerFunction('weigh(dyn): dyn', (value: unknown) => meter.weigh(value))
    .registerFunction('string.re2matches(string): bool', (text: string, pattern: string) =>
      patternFor(text, pattern, meter).test(text),
    );
  return withLibrary(environment, meter);
}

/** The functions of Kubernetes' string and list libraries that the evaluator does not bring. */
function withLibrary(environment: Environment, meter: CelMeter | undefined): Environment {
  environment
    .registerFunction(
      'string.find(string): string',
      (text: string, pattern: string) => patternFor(text, pattern, meter).find(text) ?? '',
    )
    .registerFunction('string.findAll(string): list<string>', (text: string, pattern: string) =>
      patternFor(text, pattern, meter).findAll(text),
    )
    .registerFunction('string.replace(string, string): string', (text: string, from: string, to: string) =>
      replaced(text, from, to, meter),
    );
  environment.registerFunction('list<dyn>.isSorted(): bool', (list: readonly Comparable[]) =>
    list.every((item, i) => i === 0 || (list[i - 1] ?? item) <= item),
  );
  environment.registerFunction('list<int>.sum(): int', (list: readonly bigint[]) => list.reduce((a, b) => a + b, 0n));
  environment.registerFunction('list<double>.sum(): double', (list: readonly number[]) =>
    list.reduce((a, b) => a + b, 0),
  );
  environment.registerFunction('list<dyn>.min(): dyn', (list: readonly Comparable[]) => extreme(list, (a, b) => a < b));
  environment.registerFunction('list<dyn>.max(): dyn', (list: readonly Comparable[]) => extreme(list, (a, b) => a > b));
  return environment;
}

type Comparable = number | bigint | string;

function extreme(list: readonly Comparable[], better: (a: Comparable, b: Comparable) => boolean): Comparable {
  const [first, ...rest] = list;
  if (first === undefined) throw new Error('min and max of an empty list');
  return rest.reduce((best, item) => (better(item, best) ? item : best), first);
}

/** A replacement may make a text longer than it was: the result is paid for too. */
function replaced(text: string, from: string, to: string, meter: CelMeter | undefined): string {
  const longest =
    from === '' ? text.length * (to.length + 1) : (text.length / from.length) * Math.max(to.length, from.length);
  meter?.charge(Math.ceil(longest / 256));
  return text.replaceAll(from, () => to);
}

const PATTERNS_KEPT = 256;
const patterns = new Map<string, SafePattern>();

function patternFor(text: string, pattern: string, meter: CelMeter | undefined): SafePattern {
  meter?.charge(Math.ceil((text.length * pattern.length) / 64));
  const known = patterns.get(pattern);
  if (known !== undefined) return known;
  const compiled = compilePattern(pattern);
  const [oldest] = patterns.keys();
  if (patterns.size >= PATTERNS_KEPT && oldest !== undefined) patterns.delete(oldest);
  patterns.set(pattern, compiled);
  return compiled;
}
