import type { Cause } from '../meta/api-error.ts';
import { forbiddenChange, invalidField } from '../meta/field-causes.ts';
import { jsonEqual, type KubeObject } from '../meta/object.ts';

/** What the values of a ConfigMap or a Secret may take together, in bytes. */
export const MAX_DATA_BYTES = 1 << 20;

const KEY = /^[-._a-zA-Z0-9]+$/;
const MAX_KEY_LENGTH = 253;
const KEY_FORM =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

/** What is wrong with the keys of a map whose values may become files (k8s.io/apimachinery, IsConfigMapKey). */
export function keyCauses(field: string, data: Readonly<Record<string, unknown>>): Cause[] {
  return Object.keys(data)
    .sort()
    .flatMap((key) => keyProblems(key).map((problem) => invalidField(`${field}[${key}]`, key, problem)));
}

function keyProblems(key: string): string[] {
  const problems: string[] = [];
  if (key.length > MAX_KEY_LENGTH) problems.push(`must be no more than ${MAX_KEY_LENGTH} characters`);
  if (!KEY.test(key)) problems.push(KEY_FORM);
  if (key === '.' || key === '..') problems.push(`must not be '${key}'`);
  else if (key.startsWith('..')) problems.push("must not start with '..'");
  return problems;
}

/** Once `immutable`, neither that nor the named fields change. */
export function immutableCauses(
  object: KubeObject,
  previous: KubeObject | undefined,
  fields: readonly string[],
): Cause[] {
  if (previous?.immutable !== true) return [];
  const why = 'field is immutable when `immutable` is set';
  const changed = fields.filter((field) => !jsonEqual(object[field], previous[field]));
  return [...(object.immutable === true ? [] : ['immutable']), ...changed].map((field) => forbiddenChange(field, why));
}
