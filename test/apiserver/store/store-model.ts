import type { TxnRequest } from '../../../apiserver/store/store.ts';
import { textOf } from './store-maker.ts';

interface Cell {
  readonly value: string;
  readonly mod: number;
  readonly create: number;
}

/** What a store is, said as simply as possible: a whole state for every revision. */
export class StoreModel {
  readonly #states: ReadonlyMap<string, Cell>[] = [new Map()];
  /** The watch line of each revision; nothing for 0. */
  readonly batches: string[] = [''];

  get revision(): number {
    return this.#states.length - 1;
  }

  modRevision(key: string): number {
    return this.#states.at(-1)?.get(key)?.mod ?? 0;
  }

  /** Does the transaction; the answer as a line. */
  txn(request: TxnRequest): string {
    if (request.compares.some(({ key, revision }) => this.modRevision(key) !== revision)) {
      return `refused ${request.compares.map(({ key }) => `${key}@${this.modRevision(key)}`).join(' ')}`;
    }
    const state = new Map(this.#states.at(-1));
    const revision = this.revision + 1;
    const events: string[] = [];
    for (const { key, value } of request.puts) {
      const before = state.get(key);
      state.set(key, { value: textOf(value), mod: revision, create: before?.create ?? revision });
      events.push(`${before === undefined ? '+' : ''}${key}=${textOf(value)}`);
    }
    for (const key of request.deletes) if (state.delete(key)) events.push(`-${key}`);
    if (events.length === 0) return `ok ${this.revision}`;
    this.#states.push(state);
    this.batches.push(`${revision}: ${events.join(' ')}`);
    return `ok ${revision}`;
  }

  /** All entry lines under a prefix at a revision. */
  range(prefix: string, revision: number): string[] {
    return [...(this.#states[revision] ?? [])]
      .filter(([key]) => key.startsWith(prefix))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, { value, mod, create }]) => `${key}=${value}@${mod}/${create}`);
  }
}
