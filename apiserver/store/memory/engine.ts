import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CommitFault, Engine, EngineRange, LogRow, Opened } from '../engine.ts';
import { toEvent } from '../log-store.ts';
import { type Batch, type Entry, type RangeResult, type StoreBirth, StoreError, type StoreSize } from '../store.ts';

const HISTORY_PAGE = 256;

/** A log in memory: gone with the process. */
export class MemoryEngine implements Engine {
  readonly opened: Opened;
  readonly died: Promise<StoreError>;
  readonly #die: (error: StoreError) => void;
  /** In order of revision. */
  #log: LogRow[] = [];
  /** The rows of each key, oldest first. */
  readonly #rows = new Map<string, LogRow[]>();

  constructor({ uid, revision, origin }: StoreBirth) {
    const { promise, resolve } = Promise.withResolvers<StoreError>();
    this.died = promise;
    this.#die = resolve;
    this.opened = { uid, origin, revision, compacted: revision, live: [] };
  }

  async commit(rows: readonly LogRow[], fault: CommitFault | undefined): Promise<void> {
    await nextTurn();
    if (fault === 'NoSpace') throw new StoreError('NoSpace', 'a test filled the disk');
    if (fault === 'ReadOnly') throw new StoreError('Unavailable', 'a test made the disk read-only');
    if (fault !== undefined) {
      const error = new StoreError('UnknownOutcome', `a test failed the commit: ${fault}`);
      if (fault === 'Death') this.#die(error);
      throw error;
    }
    for (const row of rows) {
      this.#log.push(row);
      const older = this.#rows.get(row.key);
      if (older === undefined) this.#rows.set(row.key, [row]);
      else older.push(row);
    }
  }

  async get(key: string, revision: number): Promise<Entry | undefined> {
    return this.#entry(key, revision);
  }

  async range({ prefix, after, limit, revision }: EngineRange): Promise<RangeResult> {
    const keys = [...this.#rows.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
    const all = keys.map((key) => this.#entry(key, revision)).filter((entry) => entry !== undefined);
    const entries = all.slice(0, limit);
    return { entries, revision, remaining: all.length - entries.length };
  }

  async history(after: number, upTo: number): Promise<readonly Batch[]> {
    const rows = this.#log.filter((row) => row.revision > after && row.revision <= upTo);
    return [...Map.groupBy(rows, (row) => row.revision)]
      .slice(0, HISTORY_PAGE)
      .map(([revision, changes]) => ({ revision, events: changes.map(toEvent) }));
  }

  async compact(revision: number): Promise<void> {
    for (const [key, rows] of this.#rows) {
      const last = rows.findLast((row) => row.revision <= revision);
      const kept = rows.filter((row) => row.revision > revision || (row === last && row.value !== undefined));
      if (kept.length === 0) this.#rows.delete(key);
      else this.#rows.set(key, kept);
    }
    this.#log = this.#log.filter((row) => row.revision > revision);
  }

  async size(): Promise<StoreSize> {
    const bytes = this.#log.reduce((sum, row) => sum + row.key.length + (row.value?.byteLength ?? 0), 0);
    return { bytes, usedBytes: bytes };
  }

  async close(): Promise<void> {}

  #entry(key: string, revision: number): Entry | undefined {
    const row = this.#rows.get(key)?.findLast((candidate) => candidate.revision <= revision);
    if (row?.value === undefined) return undefined;
    return { key, value: row.value, modRevision: row.revision, createRevision: row.createRevision };
  }
}
