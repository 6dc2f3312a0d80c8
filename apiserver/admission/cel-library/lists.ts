import type { Environment } from '@marcbachmann/cel-js';
import { Duration } from '@marcbachmann/cel-js/evaluator';
import type { CelMeter } from '../cel-meter.ts';
import { type Comparable, order, sameValue } from './compare.ts';

const COMPARABLE = [
  'int',
  'uint',
  'double',
  'bool',
  'string',
  'bytes',
  'google.protobuf.Duration',
  'google.protobuf.Timestamp',
] as const;

class SetsNamespace {}

/** The functions of lists and sets of Kubernetes (k8s.io/apiserver/pkg/cel/library, cel-go/ext) that the evaluator does not bring. */
export function registerLists(environment: Environment, meter: CelMeter | undefined): void {
  for (const type of COMPARABLE) {
    environment
      .registerFunction(`list<${type}>.isSorted(): bool`, isSorted)
      .registerFunction(`list<${type}>.min(): ${type}`, (list: readonly Comparable[]) => extreme(list, 'min'))
      .registerFunction(`list<${type}>.max(): ${type}`, (list: readonly Comparable[]) => extreme(list, 'max'));
  }
  environment
    .registerFunction('list<int>.sum(): int', sum)
    .registerFunction('list<double>.sum(): double', (list: readonly number[]) => list.reduce((a, b) => a + b, 0))
    .registerFunction('list<google.protobuf.Duration>.sum(): google.protobuf.Duration', (list: readonly Duration[]) =>
      list.reduce((a, b) => a.addDuration(b), new Duration(0n)),
    )
    .registerFunction('list<A>.indexOf(A): int', (list: readonly unknown[], item: unknown) => {
      meter?.weigh(list);
      return BigInt(list.findIndex((one) => sameValue(one, item)));
    })
    .registerFunction('list<A>.lastIndexOf(A): int', (list: readonly unknown[], item: unknown) => {
      meter?.weigh(list);
      return BigInt(list.findLastIndex((one) => sameValue(one, item)));
    });
  registerSets(environment, meter);
}

function registerSets(environment: Environment, meter: CelMeter | undefined): void {
  const includes = (list: readonly unknown[], items: readonly unknown[]) => {
    payFor(list, items, meter);
    return items.every((item) => list.some((one) => sameValue(one, item)));
  };
  environment
    .registerType('SetsNamespace', SetsNamespace)
    .registerConstant('sets', 'SetsNamespace', new SetsNamespace())
    .registerFunction(
      'SetsNamespace.contains(list<A>, list<A>): bool',
      (_: SetsNamespace, list: readonly unknown[], items: readonly unknown[]) => includes(list, items),
    )
    .registerFunction(
      'SetsNamespace.equivalent(list<A>, list<A>): bool',
      (_: SetsNamespace, a: readonly unknown[], b: readonly unknown[]) => includes(a, b) && includes(b, a),
    )
    .registerFunction(
      'SetsNamespace.intersects(list<A>, list<A>): bool',
      (_: SetsNamespace, a: readonly unknown[], b: readonly unknown[]) => {
        payFor(a, b, meter);
        return a.some((item) => b.some((one) => sameValue(one, item)));
      },
    );
}

/** Every item of one list is compared with every item of the other. */
function payFor(a: readonly unknown[], b: readonly unknown[], meter: CelMeter | undefined): void {
  meter?.charge(meter.weightOf(a) * b.length + meter.weightOf(b) * a.length);
}

function isSorted(list: readonly Comparable[]): boolean {
  return list.every((item, i) => i === 0 || order(list[i - 1] ?? item, item) <= 0);
}

function extreme(list: readonly Comparable[], which: 'min' | 'max'): Comparable {
  const [first] = list;
  if (first === undefined) throw new Error(`${which} called on empty list`);
  return list.reduce((best, item) => (order(item, best) * (which === 'min' ? 1 : -1) < 0 ? item : best), first);
}

const MAX_INT64 = 2n ** 63n - 1n;

function sum(list: readonly bigint[]): bigint {
  const total = list.reduce((a, b) => a + b, 0n);
  if (total > MAX_INT64 || total < -MAX_INT64 - 1n) throw new Error('integer overflow');
  return total;
}
