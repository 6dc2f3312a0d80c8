import { YamlError } from './yaml-error.ts';
import { isUnsigned, type Scalar } from './yaml-scalar.ts';

/** The name of the field that a key of whatever type stands for. Throws YamlError where it stands for none. */
export function keyText({ type, value }: Scalar, line: number): string {
  if (value === null || isUnsigned(value))
    throw new YamlError(`a key must be text, a number of 64 bits or a boolean, not ${value}`, line);
  return type === 'float' ? floatText(Number(value)) : String(value);
}

/** A number as Go's `%g` has it with the digits of a float32, which is what becomes of keys. */
function floatText(value: number): string {
  if (Number.isNaN(value)) return '.nan';
  const single = Math.fround(value);
  if (!Number.isFinite(single)) return single > 0 ? '.inf' : '-.inf';
  const [digits = '', exponent = ''] = shortest(single).split('e');
  const power = Number(exponent);
  if (power < -4 || power >= 6) return `${digits}e${exponent.slice(0, 1)}${exponent.slice(1).padStart(2, '0')}`;
  const behindPoint = Math.max(0, digits.replace(/\D/g, '').length - 1 - power);
  const text = single.toFixed(behindPoint);
  return Object.is(single, -0) ? `-${text}` : text;
}

/** The fewest digits that tell one float32 from every other, as `d.ddde+d`. */
function shortest(single: number): string {
  for (let behindPoint = 0; behindPoint < 8; behindPoint++) {
    const text = single.toExponential(behindPoint);
    if (Math.fround(Number(text)) === single) return text;
  }
  return single.toExponential(8);
}
