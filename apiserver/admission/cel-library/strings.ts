import type { Environment } from '@marcbachmann/cel-js';
import type { Duration } from '@marcbachmann/cel-js/evaluator';
import type { CelMeter } from '../cel-meter.ts';
import { compilePattern, type SafePattern } from '../safe-pattern.ts';
import { formatString } from './format-string.ts';

class StringsNamespace {}

/** The functions of strings and patterns of Kubernetes (cel-go/ext, k8s.io/apiserver/pkg/cel/library) that the evaluator does not bring. */
export function registerStrings(environment: Environment, meter: CelMeter | undefined): void {
  environment
    .registerFunction(
      'string.find(string): string',
      (text: string, pattern: string) => patternFor(pattern, meter).find(text) ?? '',
    )
    .registerFunction('string.findAll(string): list<string>', (text: string, pattern: string) =>
      patternFor(pattern, meter).findAll(text),
    )
    .registerFunction('string.findAll(string, int): list<string>', (text: string, pattern: string, limit: bigint) => {
      const found = patternFor(pattern, meter).findAll(text);
      return limit < 0n ? found : found.slice(0, Number(limit));
    })
    .registerFunction('string.replace(string, string): string', (text: string, from: string, to: string) =>
      replaced(text, from, to, -1, meter),
    )
    .registerFunction(
      'string.replace(string, string, int): string',
      (text: string, from: string, to: string, limit: bigint) => replaced(text, from, to, Number(limit), meter),
    )
    .registerFunction('string.charAt(int): string', characterAt)
    .registerFunction('string.format(list<dyn>): string', (text: string, args: readonly unknown[]) => {
      meter?.weigh(args);
      return formatString(text, args);
    })
    .registerType('StringsNamespace', StringsNamespace)
    .registerConstant('strings', 'StringsNamespace', new StringsNamespace())
    .registerFunction('StringsNamespace.quote(string): string', (_: StringsNamespace, text: string) => {
      meter?.charge(1 + text.length);
      return JSON.stringify(text);
    })
    .registerFunction('string(google.protobuf.Duration): string', (duration: Duration) => duration.toString())
    .registerFunction('string(google.protobuf.Timestamp): string', (at: Date) => at.toISOString().replace('.000Z', 'Z'))
    .registerFunction('int(google.protobuf.Timestamp): int', (at: Date) => BigInt(Math.floor(at.getTime() / 1000)));
}

function characterAt(text: string, index: bigint): string {
  if (index < 0n || index > BigInt(text.length)) throw new Error(`index out of range: ${index}`);
  return text.charAt(Number(index));
}

/** A replacement may make a text longer than it was: the result is paid for too. */
function replaced(text: string, from: string, to: string, limit: number, meter: CelMeter | undefined): string {
  const longest =
    from === '' ? text.length * (to.length + 1) : (text.length / from.length) * Math.max(to.length, from.length);
  meter?.charge(Math.ceil(longest / 64));
  if (limit < 0) return text.replaceAll(from, () => to);
  let left = limit;
  return text.replaceAll(from, (found) => (left-- > 0 ? to : found));
}

/** A rule's step is as much work as so many steps of effort. */
const EFFORT_A_STEP = 10;

/** A pattern to hold texts against, all of whose work is paid for. */
export function patternFor(pattern: string, meter: CelMeter | undefined): SafePattern {
  const spend = (work: number) => meter?.charge(Math.ceil(work / EFFORT_A_STEP));
  const compiled = compilePattern(pattern, spend);
  return {
    size: compiled.size,
    test: (text) => compiled.test(text, spend),
    find: (text) => compiled.find(text, spend),
    findAll: (text) => compiled.findAll(text, spend),
  };
}
