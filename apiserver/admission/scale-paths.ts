import type { Cause } from '../../resources/meta/api-error.ts';
import type { ScaleMapping } from '../../resources/meta/define-kind.ts';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import { invalidValue } from './causes.ts';
import { goPlain, goType, typeName } from './go-format.ts';

const MAX_INT32 = 2 ** 31 - 1;

/** The fields a scale subresource reads must be what it reads: replica counts, and a selector's text. */
export function checkScalePaths(object: JsonObject, scale: ScaleMapping | undefined): Cause[] {
  if (scale === undefined) return [];
  return [
    ...replicaCauses(object, scale.specReplicasPath),
    ...replicaCauses(object, scale.statusReplicasPath),
    ...(scale.labelSelectorPath === undefined ? [] : selectorCauses(object, scale.labelSelectorPath)),
  ];
}

function replicaCauses(object: JsonObject, path: string): Cause[] {
  const found = lookUp(object, path, 'int64', (value) => typeName(value) === 'integer');
  if (found.problem !== undefined) return [invalidValue(path, 0, found.problem)];
  const count = found.value as number | bigint | undefined;
  if (count === undefined) return [];
  if (count < 0) return [invalidValue(path, count, 'should be a non-negative integer')];
  return count > MAX_INT32 ? [invalidValue(path, count, `should be less than or equal to ${MAX_INT32}`)] : [];
}

function selectorCauses(object: JsonObject, path: string): Cause[] {
  const found = lookUp(object, path, 'string', (value) => typeof value === 'string');
  return found.problem === undefined ? [] : [invalidValue(path, '', found.problem)];
}

function lookUp(
  object: JsonObject,
  path: string,
  expected: string,
  fits: (value: unknown) => boolean,
): { readonly value?: unknown; readonly problem?: string } {
  const fields = path.replace(/^\./, '').split('.');
  let at: unknown = object;
  for (const [i, field] of fields.entries()) {
    if (at === undefined || at === null) return {};
    if (!isObject(at)) return { problem: mismatch(fields.slice(0, i), at, 'map[string]interface {}') };
    at = Object.hasOwn(at, field) ? at[field] : undefined;
  }
  if (at === undefined) return {};
  return fits(at) ? { value: at } : { problem: mismatch(fields, at, expected) };
}

function mismatch(fields: readonly string[], value: unknown, expected: string): string {
  return `.${fields.join('.')} accessor error: ${goPlain(value)} is of the type ${goType(value)}, expected ${expected}`;
}
