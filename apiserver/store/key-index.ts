import type { LogRow, Version } from './engine.ts';
import type { TxnRequest } from './store.ts';

/** What to put back when a staged transaction fails, newest first. */
export type Undo = readonly (readonly [key: string, before: Version | undefined])[];

/** The revisions of all live keys, staged transactions included: what compares are judged against, without asking the disk. */
export class KeyIndex {
  readonly #live: Map<string, Version>;

  constructor(live: Iterable<readonly [string, Version]>) {
    this.#live = new Map(live);
  }

  /** Undefined when all compares hold, else the current revision of every compared key. */
  judge(compares: TxnRequest['compares']): ReadonlyMap<string, number> | undefined {
    const current = (key: string) => this.#live.get(key)?.modRevision ?? 0;
    if (compares.every(({ key, revision }) => current(key) === revision)) return undefined;
    return new Map(compares.map(({ key }) => [key, current(key)]));
  }

  /** Applies the writes as `revision`. Deleting an absent key changes nothing and makes no row. */
  stage(request: TxnRequest, revision: number): { readonly rows: readonly LogRow[]; readonly undo: Undo } {
    const rows: LogRow[] = [];
    const undo: [string, Version | undefined][] = [];
    for (const { key, value } of request.puts) {
      const before = this.#live.get(key);
      const createRevision = before?.createRevision ?? revision;
      rows.push({ revision, key, createRevision, value });
      undo.push([key, before]);
      this.#live.set(key, { modRevision: revision, createRevision });
    }
    for (const key of request.deletes) {
      const before = this.#live.get(key);
      if (before === undefined) continue;
      rows.push({ revision, key, createRevision: 0, value: undefined });
      undo.push([key, before]);
      this.#live.delete(key);
    }
    return { rows, undo };
  }

  /** Takes one staged transaction back. Only the newest may be. */
  undo(undo: Undo): void {
    for (const [key, before] of undo) {
      if (before === undefined) this.#live.delete(key);
      else this.#live.set(key, before);
    }
  }
}
