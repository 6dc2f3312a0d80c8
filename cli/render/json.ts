import { byCodePoint } from '../../resources/meta/code-point.ts';
import { isObject } from '../../resources/meta/object.ts';

/** JSON as kubectl prints it: four spaces, keys sorted. */
export function renderJson(value: unknown): string {
  return `${write(value, '')}\n`;
}

/** Written by hand because an object of JavaScript would put keys like "10" first, whatever order they were given in. */
function write(value: unknown, indent: string): string {
  const deeper = `${indent}    `;
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]';
    return `[\n${value.map((item) => deeper + write(item, deeper)).join(',\n')}\n${indent}]`;
  }
  if (!isObject(value)) return JSON.stringify(value ?? null);
  const keys = Object.keys(value)
    .filter((key) => value[key] !== undefined)
    .sort(byCodePoint);
  if (keys.length === 0) return '{}';
  return `{\n${keys.map((key) => `${deeper}${JSON.stringify(key)}: ${write(value[key], deeper)}`).join(',\n')}\n${indent}}`;
}
