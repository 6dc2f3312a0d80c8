import { byCodePoint } from './code-point.ts';
import { isObject } from './object.ts';

/**
 * JSON byte for byte as Go's encoding/json writes a decoded object: keys in the order of their bytes, no spaces, and `<`, `>`, `&`,
 * U+2028 and U+2029 escaped. Numbers need no care: Go and JavaScript write the same shortest form from 1e-6 to 1e21, and the same exponents beyond.
 */
export function goJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(goJson).join(',')}]`;
  if (isObject(value)) {
    const keys = Object.keys(value)
      .filter((key) => value[key] !== undefined)
      .sort(byCodePoint);
    return `{${keys.map((key) => `${text(key)}:${goJson(value[key])}`).join(',')}}`;
  }
  return typeof value === 'string' ? text(value) : JSON.stringify(value ?? null);
}

function text(value: string): string {
  return JSON.stringify(value.toWellFormed()).replace(/[<>&\u2028\u2029]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
