import { entry } from '../../resources/meta/map-entry.ts';
import type { StoredObject } from './stored-object.ts';

/** A field that objects are looked for by. */
export interface IndexedField {
  /** The same for the same `textOf`, and no other. */
  readonly id: string;
  readonly textOf: (stored: StoredObject) => string;
}

/** Objects of a resource by the text of one of their fields, and who wants to hear of those that have a certain one. */
export class FieldIndex<L> {
  readonly #field: IndexedField;
  readonly #keys = new Map<string, Set<string>>();
  readonly #listeners = new Map<string, Set<L>>();

  constructor(field: IndexedField, objects: Iterable<StoredObject>) {
    this.#field = field;
    for (const stored of objects) this.move(stored.key, undefined, stored);
  }

  /** Keys of the objects that have a text there, in no order. */
  having(text: string): Iterable<string> {
    return this.#keys.get(text) ?? [];
  }

  move(key: string, before: StoredObject | undefined, after: StoredObject | undefined): void {
    const [was, is] = [this.#textOf(before), this.#textOf(after)];
    if (was === is) return;
    if (was !== undefined) take(this.#keys, was, key);
    if (is !== undefined) entry(this.#keys, is, () => new Set<string>()).add(key);
  }

  listen(text: string, listener: L): () => void {
    entry(this.#listeners, text, () => new Set<L>()).add(listener);
    return () => take(this.#listeners, text, listener);
  }

  /** Who listens for what an object was, or is. */
  *listenersOf(before: StoredObject | undefined, after: StoredObject | undefined): Iterable<L> {
    const [was, is] = [this.#textOf(before), this.#textOf(after)];
    if (is !== undefined) yield* this.#listeners.get(is) ?? [];
    if (was !== undefined && was !== is) yield* this.#listeners.get(was) ?? [];
  }

  #textOf(stored: StoredObject | undefined): string | undefined {
    return stored && this.#field.textOf(stored);
  }
}

function take<T>(table: Map<string, Set<T>>, row: string, item: T): void {
  const items = table.get(row);
  items?.delete(item);
  if (items?.size === 0) table.delete(row);
}
