import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { CommitFault, Engine, EngineRange, LogRow, Opened, Version } from '../engine.ts';
import { toEvent } from '../log-store.ts';
import { type Batch, type Entry, type RangeResult, StoreError, type StoreSize } from '../store.ts';
import { packRows, unpackRows } from './pack-rows.ts';
import type { ErrorReply, OpenedReply, Reply, Request, WorkerOptions } from './protocol.ts';

/** The file runs as it is in a checkout and compiled in a package. */
const WORKER = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url);

interface Answer {
  readonly rows: readonly LogRow[];
  readonly remaining: number;
  readonly size?: { readonly bytes: number; readonly usedBytes: number };
}

interface Waiting {
  readonly rows: LogRow[];
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: StoreError) => void;
}

/** The store worker as seen from the thread that uses it. */
export class SqliteEngine implements Engine {
  readonly opened: Opened;
  readonly died: Promise<StoreError>;
  readonly #die: (error: StoreError) => void;
  readonly #path: string;
  readonly #worker: Worker;
  readonly #exited: Promise<void>;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #closing = false;
  #dead: StoreError | undefined;

  /** Starts the worker and waits until it has the file, or throws why it has not. */
  static async open(options: WorkerOptions): Promise<SqliteEngine> {
    const worker = new Worker(WORKER, { workerData: options, name: 'store' });
    const { promise, resolve, reject } = Promise.withResolvers<OpenedReply>();
    worker.once('message', (reply: Reply) => {
      if (reply.kind === 'opened') resolve(reply.opened);
      else if (reply.kind === 'refused') reject(toStoreError(reply.error));
    });
    worker.once('error', (cause) => reject(new StoreError('Unreadable', 'the store worker failed', { cause })));
    worker.once('exit', () =>
      reject(new StoreError('Unreadable', `the store worker for ${options.path} did not start`)),
    );
    try {
      return new SqliteEngine(options.path, worker, await promise);
    } catch (error) {
      await worker.terminate();
      throw error;
    }
  }

  private constructor(path: string, worker: Worker, opened: OpenedReply) {
    const death = Promise.withResolvers<StoreError>();
    const exit = Promise.withResolvers<void>();
    this.died = death.promise;
    this.#die = death.resolve;
    this.#exited = exit.promise;
    this.opened = { ...opened, live: liveKeys(opened) };
    this.#path = path;
    this.#worker = worker;
    worker.on('message', (reply: Reply) => this.#receive(reply));
    worker.on('error', (error) => this.#ended(error instanceof Error ? error.message : String(error)));
    worker.on('exit', (code) => {
      this.#ended(`the store worker ended with code ${code}`);
      exit.resolve();
    });
  }

  async commit(rows: readonly LogRow[], fault: CommitFault | undefined): Promise<void> {
    const packed = packRows(rows);
    await this.#ask((id) => ({ kind: 'commit', id, fault, ...packed }), undefined, [packed.values]);
  }

  async get(key: string, revision: number): Promise<Entry | undefined> {
    const { rows } = await this.#ask((id) => ({ kind: 'get', id, key, revision }));
    return rows.map(toEntry)[0];
  }

  async range(query: EngineRange, signal: AbortSignal | undefined): Promise<RangeResult> {
    const { rows, remaining } = await this.#ask((id) => ({ kind: 'range', id, ...query }), signal);
    return { entries: rows.map(toEntry), revision: query.revision, remaining };
  }

  async history(after: number, upTo: number): Promise<readonly Batch[]> {
    const { rows } = await this.#ask((id) => ({ kind: 'history', id, after, upTo }));
    return [...Map.groupBy(rows, (row) => row.revision)].map(([revision, changes]) => ({
      revision,
      events: changes.map(toEvent),
    }));
  }

  async size(): Promise<StoreSize> {
    const [{ size }, { bavail, blocks, bsize }] = await Promise.all([
      this.#ask((id) => ({ kind: 'size', id })),
      statfs(dirname(this.#path)),
    ]);
    if (size === undefined) throw new StoreError('Unreadable', 'the store did not say how large it is');
    return { ...size, freeBytes: bavail * bsize, diskBytes: blocks * bsize };
  }

  async compact(revision: number, signal: AbortSignal | undefined): Promise<void> {
    await this.#ask((id) => ({ kind: 'compact', id, revision }), signal);
  }

  async close(): Promise<void> {
    if (this.#dead === undefined) {
      this.#closing = true;
      const answer = this.#ask((id) => ({ kind: 'close', id }));
      await answer.catch(() => undefined);
    }
    await this.#worker.terminate();
    await this.#exited;
  }

  #ask(request: (id: number) => Request, signal?: AbortSignal, transfer: readonly ArrayBuffer[] = []): Promise<Answer> {
    if (this.#dead !== undefined) return Promise.reject(this.#dead);
    this.#lastId += 1;
    const id = this.#lastId;
    const cancel = () => {
      this.#waiting.delete(id);
      this.#worker.postMessage({ kind: 'cancel', id } satisfies Request);
    };
    return new Promise((resolve, reject) => {
      const settled = () => signal?.removeEventListener('abort', cancel);
      this.#waiting.set(id, {
        rows: [],
        resolve: (answer) => {
          settled();
          resolve(answer);
        },
        reject: (error) => {
          settled();
          reject(error);
        },
      });
      signal?.addEventListener('abort', cancel, { once: true });
      this.#worker.postMessage(request(id), transfer);
    });
  }

  #receive(reply: Reply): void {
    if (reply.kind === 'opened' || reply.kind === 'refused') return;
    const waiting = this.#waiting.get(reply.id);
    if (waiting === undefined) return;
    if (reply.kind === 'part') {
      for (const row of unpackRows(reply.rows)) waiting.rows.push(row);
      return;
    }
    this.#waiting.delete(reply.id);
    if (reply.kind === 'failed') waiting.reject(toStoreError(reply.error));
    else if (reply.kind === 'sized') waiting.resolve({ rows: [], remaining: 0, size: reply });
    else waiting.resolve({ rows: waiting.rows.concat(unpackRows(reply.rows)), remaining: reply.remaining });
  }

  #ended(message: string): void {
    if (this.#dead !== undefined) return;
    this.#dead = new StoreError('Closed', message);
    for (const waiting of this.#waiting.values()) waiting.reject(this.#dead);
    this.#waiting.clear();
    if (!this.#closing) this.#die(new StoreError('UnknownOutcome', message));
  }
}

function toStoreError({ reason, message }: ErrorReply): StoreError {
  return new StoreError(reason, message);
}

function toEntry({ key, value, revision, createRevision }: LogRow): Entry {
  if (value === undefined) throw new StoreError('Unreadable', `the store answered a read of ${key} with a deletion`);
  return { key, value, modRevision: revision, createRevision };
}

function* liveKeys({ keys, modRevisions, createRevisions }: OpenedReply): Generator<readonly [string, Version]> {
  for (const [i, key] of keys.entries()) {
    yield [key, { modRevision: modRevisions[i] ?? 0, createRevision: createRevisions[i] ?? 0 }];
  }
}
