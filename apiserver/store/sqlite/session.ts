import type { DatabaseSync } from 'node:sqlite';
import type { CommitFault, EngineRange, LogRow } from '../engine.ts';
import { compactedError } from '../log-store.ts';
import type { StoreError, StoreOrigin } from '../store.ts';
import { integer, text } from './columns.ts';
import { committer } from './commit.ts';
import { Compaction } from './compaction.ts';
import { readError } from './errors.ts';
import { packRows, unpackRows } from './pack-rows.ts';
import type { OpenedReply, Reply, Request } from './protocol.ts';
import { Reader } from './read.ts';
import { StoreFile } from './store-file.ts';

/** Work done in slices between commits. */
interface Task {
  readonly id: number;
  /** The revision a range reads at; compaction waits for ranges below its own. */
  readonly readsAt: number;
  readonly steps: Iterator<unknown>;
  readonly fail: (error: unknown) => StoreError;
}

const NOTHING: readonly LogRow[] = [];

/**
 * Answers requests over one connection. Commits and small reads are done as they come. Ranges and compaction are tasks: one slice
 * of one task a turn, so a commit never waits for more than a slice.
 */
export class Session {
  readonly #database: DatabaseSync;
  readonly #file: StoreFile;
  readonly #post: (reply: Reply, transfer: readonly ArrayBuffer[]) => void;
  readonly #commit: (rows: readonly LogRow[], fault: CommitFault | undefined) => void;
  readonly #reader: Reader;
  readonly #compaction: Compaction;
  #tasks: Task[] = [];
  #turn: NodeJS.Immediate | undefined;

  constructor(database: DatabaseSync, path: string, post: (reply: Reply, transfer: readonly ArrayBuffer[]) => void) {
    this.#database = database;
    this.#file = new StoreFile(database, path);
    this.#post = post;
    this.#commit = committer(database, this.#file);
    this.#reader = new Reader(database);
    this.#compaction = new Compaction(database);
    this.#post({ kind: 'opened', opened: this.#opened() }, []);
    // A compaction that a kill cut short goes on; nobody waits for it.
    this.#start({ id: 0, readsAt: Number.POSITIVE_INFINITY, steps: this.#compact(0, 0), fail: this.#writeError });
  }

  /** True when the session is over. */
  handle(request: Request): boolean {
    switch (request.kind) {
      case 'commit':
        this.#answer(request.id, this.#writeError, () => this.#write(request));
        break;
      case 'get':
        this.#answer(request.id, readError, () => this.#get(request.key, request.revision));
        break;
      case 'history':
        this.#answer(request.id, readError, () => this.#history(request.after, request.upTo));
        break;
      case 'range':
        this.#start({
          id: request.id,
          readsAt: request.revision,
          steps: this.#range(request.id, request),
          fail: readError,
        });
        break;
      case 'compact':
        this.#start({
          id: request.id,
          readsAt: Number.POSITIVE_INFINITY,
          steps: this.#compact(request.id, request.revision),
          fail: this.#writeError,
        });
        break;
      case 'size':
        this.#size(request.id);
        break;
      case 'cancel':
        this.#tasks = this.#tasks.filter((task) => task.id !== request.id);
        break;
      case 'close':
        this.#close(request.id);
        return true;
      default:
        throw new TypeError(`unknown request ${request satisfies never}`);
    }
    return false;
  }

  #write(request: Extract<Request, { kind: 'commit' }>): readonly LogRow[] {
    this.#commit(unpackRows(request), request.fault);
    return NOTHING;
  }

  #get(key: string, revision: number): readonly LogRow[] {
    const row = this.#reader.get(key, revision);
    return row === undefined ? NOTHING : [row];
  }

  readonly #writeError = (error: unknown): StoreError => this.#file.writeError(error);

  #size(id: number): void {
    try {
      this.#post({ kind: 'sized', id, ...this.#file.size() }, []);
    } catch (error) {
      this.#failed(id, readError(error));
    }
  }

  #end(): readonly LogRow[] {
    this.#database.close();
    return NOTHING;
  }

  #close(id: number): void {
    this.#tasks = [];
    if (this.#turn !== undefined) clearImmediate(this.#turn);
    this.#answer(id, this.#writeError, () => this.#end());
  }

  #history(after: number, upTo: number): LogRow[] {
    if (after < this.#compaction.compacted) throw compactedError(after, this.#compaction.compacted);
    return this.#reader.history(after, upTo);
  }

  *#range(id: number, query: EngineRange): Generator<undefined, void> {
    if (query.revision < this.#compaction.compacted) throw compactedError(query.revision, this.#compaction.compacted);
    const slices = this.#reader.range(query);
    for (;;) {
      const slice = slices.next();
      if (slice.done) return this.#done(id, NOTHING, slice.value);
      if (slice.value.length > 0) {
        const rows = packRows(slice.value);
        this.#post({ kind: 'part', id, rows }, [rows.values]);
      }
      yield;
    }
  }

  *#compact(id: number, revision: number): Generator<undefined, void> {
    this.#compaction.raise(revision);
    while (this.#tasks.some((task) => task.readsAt < this.#compaction.compacted)) yield;
    yield* this.#compaction.sweep();
    this.#done(id, NOTHING, 0);
  }

  #start(task: Task): void {
    this.#tasks.push(task);
    this.#turn ??= setImmediate(() => this.#step());
  }

  #step(): void {
    this.#turn = undefined;
    const task = this.#tasks.shift();
    if (task === undefined) return;
    try {
      if (!task.steps.next().done) this.#tasks.push(task);
    } catch (error) {
      this.#failed(task.id, task.fail(error));
    }
    if (this.#tasks.length > 0) this.#turn ??= setImmediate(() => this.#step());
  }

  #answer(id: number, fail: (error: unknown) => StoreError, run: () => readonly LogRow[]): void {
    try {
      this.#done(id, run(), 0);
    } catch (error) {
      this.#failed(id, fail(error));
    }
  }

  #done(id: number, found: readonly LogRow[], remaining: number): void {
    const rows = packRows(found);
    this.#post({ kind: 'done', id, rows, remaining }, [rows.values]);
  }

  #failed(id: number, { reason, message }: StoreError): void {
    this.#post({ kind: 'failed', id, error: { reason, message } }, []);
  }

  #origin(): StoreOrigin | undefined {
    const known = this.#database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'origin'").get();
    const row = known && this.#database.prepare('SELECT uid, revision, taken_at FROM origin').get();
    return row && { uid: text(row.uid), revision: integer(row.revision), takenAt: text(row.taken_at) };
  }

  #opened(): OpenedReply {
    const meta = this.#database.prepare('SELECT uid FROM meta').get();
    const newest = this.#database.prepare('SELECT max(id) >> 7 AS rev FROM log').get();
    const live = this.#database.prepare('SELECT key, rev, created FROM cur WHERE created > 0').all();
    return {
      uid: text(meta?.uid),
      origin: this.#origin(),
      // Compaction may have deleted the newest row, but only at the compacted revision itself.
      revision: Math.max(newest?.rev === null ? 0 : integer(newest?.rev), this.#compaction.compacted),
      compacted: this.#compaction.compacted,
      keys: live.map((row) => text(row.key)),
      modRevisions: live.map((row) => integer(row.rev)),
      createRevisions: live.map((row) => integer(row.created)),
    };
  }
}
