import { setOwn } from './json-reader.ts';
import type { JsonObject } from './object.ts';

/** What a field becomes that is to go. */
export const LEFT_OUT = Symbol('left out');

/** An object with each field as `rewrite` answers it; the object itself when nothing changes, as copies of large ones are dear. */
export function rewriteFields(object: JsonObject, rewrite: (name: string, field: unknown) => unknown): JsonObject {
  const names = Object.keys(object);
  let changed: JsonObject | undefined;
  for (let i = 0; i < names.length; i++) {
    const name = names[i] ?? '';
    const field = object[name];
    const next = rewrite(name, field);
    if (changed === undefined) {
      if (next === field) continue;
      changed = {};
      for (const earlier of names.slice(0, i)) setOwn(changed, earlier, object[earlier]);
    }
    if (next !== LEFT_OUT) setOwn(changed, name, next);
  }
  return changed ?? object;
}
