import { entry } from '../meta/map-entry.ts';

/** Things by key, and together by something else they have in common. */
export class Grouped<T> {
  readonly #groupOf: (value: T) => string | undefined;
  readonly #values = new Map<string, T>();
  readonly #groups = new Map<string, Map<string, T>>();

  constructor(groupOf: (value: T) => string | undefined) {
    this.#groupOf = groupOf;
  }

  get size(): number {
    return this.#values.size;
  }

  get(key: string): T | undefined {
    return this.#values.get(key);
  }

  all(): Iterable<T> {
    return this.#values.values();
  }

  in(group: string): readonly T[] {
    return [...(this.#groups.get(group)?.values() ?? [])];
  }

  /** Undefined removes it. */
  set(key: string, value: T | undefined): void {
    const before = this.#values.get(key);
    const left = before === undefined ? undefined : this.#groupOf(before);
    if (left !== undefined) {
      const group = this.#groups.get(left);
      group?.delete(key);
      if (group?.size === 0) this.#groups.delete(left);
    }
    if (value === undefined) {
      this.#values.delete(key);
      return;
    }
    this.#values.set(key, value);
    const joined = this.#groupOf(value);
    if (joined !== undefined) entry(this.#groups, joined, () => new Map<string, T>()).set(key, value);
  }
}
