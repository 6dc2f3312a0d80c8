import type { ManagedFieldsEntry } from '../../resources/meta/object.ts';
import type { Managers } from './managed-fields.ts';

/** The writes of one or two seconds of a busy server: an object that is written again is mostly written within that time. */
const MOST = 1024;

/**
 * The managers of the records that were read or written last. As sets they take three times the room of the record: they are
 * remembered for as many records as are likely to be written again soon, and not for all objects there are.
 */
export class LatestManagers {
  readonly #managers = new Map<readonly ManagedFieldsEntry[], Managers>();

  get(entries: readonly ManagedFieldsEntry[]): Managers | undefined {
    return this.#managers.get(entries);
  }

  add(entries: readonly ManagedFieldsEntry[], managers: Managers): void {
    this.#managers.set(entries, managers);
    if (this.#managers.size <= MOST) return;
    const [oldest] = this.#managers.keys();
    if (oldest !== undefined) this.#managers.delete(oldest);
  }
}
