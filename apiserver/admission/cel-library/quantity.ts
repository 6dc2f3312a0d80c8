import type { Environment } from '@marcbachmann/cel-js';
import { type Charge, chargeText } from './charge.ts';

/** Longer texts are no quantities: nobody writes one, and their numbers are long to compute with. */
const MAX_LENGTH = 256;
/** Everything is counted in billionths, the finest a quantity can tell. */
const DECIMALS = 9;
const UNIT = 10n ** BigInt(DECIMALS);
/** Exponents beyond this give the largest quantity there is. */
const MAX_EXPONENT = 48;
const LARGEST = 10n ** BigInt(MAX_EXPONENT + DECIMALS);
const MAX_INT64 = 2n ** 63n - 1n;

const FORM = /^([+-]?)([0-9]*)(?:\.([0-9]*))?(?:([KMGTPE]i)|([numkMGTPE]?)|[eE]([+-]?[0-9]+))$/;
const BINARY: Readonly<Record<string, bigint>> = {
  Ki: 1n << 10n,
  Mi: 1n << 20n,
  Gi: 1n << 30n,
  Ti: 1n << 40n,
  Pi: 1n << 50n,
  Ei: 1n << 60n,
};
const DECIMAL: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };

/** A resource quantity (k8s.io/apimachinery/pkg/api/resource), exact to the billionth. */
class Quantity {
  readonly billionths: bigint;

  constructor(billionths: bigint) {
    this.billionths = billionths > LARGEST ? LARGEST : billionths < -LARGEST ? -LARGEST : billionths;
  }

  /** The whole number it is; undefined when it is none, or none of 64 bits. */
  get integer(): bigint | undefined {
    const whole = this.billionths / UNIT;
    return this.billionths % UNIT === 0n && whole <= MAX_INT64 && whole >= -MAX_INT64 - 1n ? whole : undefined;
  }
}

/** Undefined for a text that is no quantity. What is finer than a billionth is rounded away from zero. */
function parseQuantity(text: string): Quantity | undefined {
  const match = text.length > MAX_LENGTH ? null : FORM.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = '', binary, decimal, exponent] = match;
  if (whole === '' && fraction === '') return undefined;
  const digits = BigInt(`${whole}${fraction}` || '0');
  const factor = binary === undefined ? 1n : (BINARY[binary] ?? 1n);
  const power = exponent === undefined ? (DECIMAL[decimal ?? ''] ?? 0) : Number(exponent);
  const value = scaled(digits * factor, power + DECIMALS - fraction.length);
  return new Quantity(sign === '-' ? -value : value);
}

function scaled(digits: bigint, power: number): bigint {
  if (digits === 0n) return 0n;
  if (power >= 0) return power > MAX_EXPONENT + DECIMALS ? LARGEST : digits * 10n ** BigInt(power);
  if (-power > MAX_LENGTH * 2) return 1n;
  const divisor = 10n ** BigInt(-power);
  return (digits + divisor - 1n) / divisor;
}

function quantityOf(text: string): Quantity {
  const quantity = parseQuantity(text);
  if (quantity === undefined) {
    throw new Error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
  }
  return quantity;
}

const compare = (a: Quantity, b: Quantity): number =>
  a.billionths < b.billionths ? -1 : a.billionths > b.billionths ? 1 : 0;

function integerOf({ integer }: Quantity): bigint {
  if (integer === undefined) throw new Error('cannot convert value to integer');
  return integer;
}

const approximate = ({ billionths }: Quantity): number => Number(`${billionths}e-${DECIMALS}`);

/** `quantity`, `isQuantity` and what can be asked of a quantity (k8s.io/apiserver/pkg/cel/library). */
export function registerQuantity(environment: Environment, charge: Charge): void {
  const Q = 'kubernetes.Quantity';
  environment
    .registerType(Q, Quantity)
    .registerOperator(`${Q} == ${Q}`, (a: Quantity, b: Quantity) => compare(a, b) === 0)
    .registerFunction(`quantity(string): ${Q}`, (text: string) => {
      chargeText(charge, text);
      return quantityOf(text);
    })
    .registerFunction('isQuantity(string): bool', (text: string) => {
      chargeText(charge, text);
      return parseQuantity(text) !== undefined;
    })
    .registerFunction(`${Q}.isInteger(): bool`, (a: Quantity) => a.integer !== undefined)
    .registerFunction(`${Q}.asInteger(): int`, integerOf)
    .registerFunction(`${Q}.asApproximateFloat(): double`, approximate)
    .registerFunction(`${Q}.sign(): int`, (a: Quantity) => BigInt(compare(a, new Quantity(0n))))
    .registerFunction(`${Q}.isGreaterThan(${Q}): bool`, (a: Quantity, b: Quantity) => compare(a, b) > 0)
    .registerFunction(`${Q}.isLessThan(${Q}): bool`, (a: Quantity, b: Quantity) => compare(a, b) < 0)
    .registerFunction(`${Q}.compareTo(${Q}): int`, (a: Quantity, b: Quantity) => BigInt(compare(a, b)));
  const sum = (a: Quantity, more: bigint) => new Quantity(a.billionths + more);
  environment
    .registerFunction(`${Q}.add(${Q}): ${Q}`, (a: Quantity, b: Quantity) => sum(a, b.billionths))
    .registerFunction(`${Q}.add(int): ${Q}`, (a: Quantity, b: bigint) => sum(a, b * UNIT))
    .registerFunction(`${Q}.sub(${Q}): ${Q}`, (a: Quantity, b: Quantity) => sum(a, -b.billionths))
    .registerFunction(`${Q}.sub(int): ${Q}`, (a: Quantity, b: bigint) => sum(a, -b * UNIT));
}
