import { isObject, type JsonObject, jsonEqual } from '../../resources/meta/object.ts';
import type { Schema } from '../../resources/meta/schema.ts';
import { propertyOf } from './structural.ts';

/** Where a value stands: names of fields and places in lists, from the object down. */
export type Steps = readonly (string | number)[];

interface Pair {
  readonly value: unknown;
  readonly before: unknown;
  readonly schema: Schema | undefined;
}

/** What was found out so far, by places and by values. */
interface Asked {
  readonly same: Map<string, boolean>;
  readonly compared: WeakMap<object, { readonly with: object; readonly same: boolean }>;
  readonly items: Map<string, ReadonlyMap<string, unknown>>;
}

/**
 * What an update leaves as it was (kubernetes.io, "Validation ratcheting"). Fields correspond by their names and items of lists by their
 * keys; items of other lists do not. An object as a whole always counts as changed, since its metadata is.
 */
export class Unchanged {
  readonly #root: Pair;
  // Made when something is wrong: most updates ask nothing.
  #asked: Asked | undefined;

  constructor(value: unknown, before: unknown, schema: Schema) {
    this.#root = { value, before, schema };
  }

  get #known(): Asked {
    this.#asked ??= { same: new Map(), compared: new WeakMap(), items: new Map() };
    return this.#asked;
  }

  /** Whether the value there, or one that it is part of, is what it was. */
  has(steps: Steps): boolean {
    let at: Pair | undefined = this.#root;
    let place = '';
    for (const step of steps) {
      at = this.#below(at, step, place);
      if (at === undefined) return false;
      place += `/${typeof step === 'number' ? step : JSON.stringify(step)}`;
      let same = this.#known.same.get(place);
      if (same === undefined) {
        same = this.#equal(at.value, at.before);
        this.#known.same.set(place, same);
      }
      if (same) return true;
    }
    return false;
  }

  /** As `jsonEqual`, but what was compared once is not again: places lie within each other. */
  #equal(a: unknown, b: unknown): boolean {
    if (typeof a !== 'object' || a === null || typeof b !== 'object' || b === null) return jsonEqual(a, b);
    const known = this.#known.compared.get(a);
    if (known?.with === b) return known.same;
    const same = this.#equalParts(a, b);
    this.#known.compared.set(a, { with: b, same });
    return same;
  }

  #equalParts(a: object, b: object): boolean {
    if (Array.isArray(a) || Array.isArray(b))
      return (
        Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, i) => this.#equal(item, b[i]))
      );
    const before = a as JsonObject;
    const after = b as JsonObject;
    const names = Object.keys(after);
    return (
      Object.keys(before).length === names.length &&
      names.every((name) => Object.hasOwn(before, name) && this.#equal(before[name], after[name]))
    );
  }

  #below({ value, before, schema }: Pair, step: string | number, place: string): Pair | undefined {
    if (Array.isArray(value)) {
      const keys = schema?.['x-kubernetes-list-type'] === 'map' ? schema['x-kubernetes-list-map-keys'] : undefined;
      if (keys === undefined || !Array.isArray(before)) return undefined;
      const item: unknown = value[Number(step)];
      const identity = keyText(item, keys, schema?.items);
      let items = this.#known.items.get(place);
      if (items === undefined) {
        items = new Map(before.map((one) => [keyText(one, keys, schema?.items), one]));
        this.#known.items.set(place, items);
      }
      return items.has(identity) ? { value: item, before: items.get(identity), schema: schema?.items } : undefined;
    }
    const name = String(step);
    if (!isObject(value) || !isObject(before) || !Object.hasOwn(value, name) || !Object.hasOwn(before, name))
      return undefined;
    return { value: value[name], before: before[name], schema: schema && fieldSchema(schema, name) };
  }
}

function fieldSchema(schema: Schema, name: string): Schema | undefined {
  return propertyOf(schema, name) ?? (isObject(schema.additionalProperties) ? schema.additionalProperties : undefined);
}

function keyText(item: unknown, keys: readonly string[], schema: Schema | undefined): string {
  return JSON.stringify(
    keys.map((key) => (isObject(item) && Object.hasOwn(item, key) ? item[key] : schema?.properties?.[key]?.default)),
    (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value),
  );
}
