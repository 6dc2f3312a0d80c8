import type { ManagedFieldsEntry } from '../../resources/meta/object.ts';
import type { Managers } from './managed-fields.ts';

/** Of all records together, what `sizeOf` makes of them, some 3 KB each: 8,000 objects of one owner, which may be written again and again, or 3,000 VMs. */
const MOST = 16_384;

/**
 * The managers of the records that were read or written last. As sets they take three times the room of the record: they are
 * remembered for as many records as are likely to be written again soon, and not for all objects there are.
 */
export class LatestManagers {
  readonly #managers = new Map<readonly ManagedFieldsEntry[], Managers>();
  #size = 0;

  get(entries: readonly ManagedFieldsEntry[]): Managers | undefined {
    return this.#managers.get(entries);
  }

  add(entries: readonly ManagedFieldsEntry[], managers: Managers): void {
    if (!this.#managers.has(entries)) this.#size += sizeOf(entries);
    this.#managers.set(entries, managers);
    while (this.#size > MOST && this.#managers.size > 1) {
      const [oldest = entries] = this.#managers.keys();
      this.#managers.delete(oldest);
      this.#size -= sizeOf(oldest);
    }
  }
}

const sizeOf = (entries: readonly ManagedFieldsEntry[]) => 1 + entries.length;
