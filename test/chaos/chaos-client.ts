import type { Transport } from '../../apiserver/client/transport.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Random } from '../fuzz/random.ts';
import { type Answer, ask, claimOf, foundIn, type Question } from './ask.ts';
import { COLLECTION, listOnce } from './ask-list.ts';
import type { Found, Recorder, Write } from './history.ts';
import { streamOnce } from './stream-list.ts';

export interface ClientDeps {
  readonly id: number;
  readonly servers: readonly Transport[];
  readonly keys: readonly string[];
  readonly recorder: Recorder;
  readonly clock: Clock;
  readonly random: Random;
  /** Between two operations, in milliseconds. */
  readonly longestThinkMs: number;
}

/** Clients that give up early leave writes behind of which nobody knows; those that do not wait longer than any server does. */
const PATIENCE_MS = [500, 2_000, 30_000];
const AFTER_FAILURE_MS = 60;

/** Writes and reads at random, mostly at one server for a while, one operation after the other. */
export class ChaosClient {
  readonly #deps: ClientDeps;
  /** What it saw last of each key. */
  readonly #seen = new Map<string, Found>();
  #server: number;
  #writes = 0;
  #newest = 0;

  constructor(deps: ClientDeps) {
    this.#deps = deps;
    this.#server = deps.id % deps.servers.length;
  }

  /** Goes on until the signal aborts, and lets the last operation end. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, longestThinkMs } = this.#deps;
    while (!signal.aborted) {
      if (random.oneIn(10)) this.#server = random.below(this.#deps.servers.length);
      const went = await this.#one();
      if (!went) this.#server = random.below(this.#deps.servers.length);
      await clock.sleep(went ? random.below(longestThinkMs + 1) : AFTER_FAILURE_MS);
    }
  }

  /** Reads a key at a server; whether that was answered. */
  async get(key: string, server = this.#server): Promise<boolean> {
    const called = this.#deps.recorder.moment();
    const answer = await this.#ask({ method: 'GET', path: `${COLLECTION}/${key}` }, server);
    const outcome = answer.status === 404 ? 'ok' : answer.outcome;
    const found = answer.outcome === 'ok' && answer.body !== undefined ? foundIn(answer.body) : undefined;
    this.#saw(key, found);
    this.#deps.recorder.add({
      kind: 'get',
      ...this.#asked(server, called, answer),
      outcome,
      key,
      ...(found === undefined ? {} : { found }),
    });
    return outcome === 'ok';
  }

  /** Lists at a server; whether that was answered, and the version. */
  async list(server = this.#server, fresh = false): Promise<number | undefined> {
    const { random } = this.#deps;
    const way = fresh ? 0 : random.below(6);
    const version = await listOnce(this.#deps, {
      server,
      patienceMs: this.#patience(),
      mode: way === 4 ? 'any' : way === 5 && this.#newest > 0 ? 'exact' : 'fresh',
      ...(way >= 3 && way !== 4 && this.#newest > 0 ? { asked: this.#newest - (way === 5 ? random.below(3) : 0) } : {}),
      ...(way === 1 || way === 2 || (way === 5 && random.oneIn(2)) ? { limit: 1 + random.below(4) } : {}),
      nextServer: () => (random.oneIn(3) ? random.below(this.#deps.servers.length) : server),
    });
    if (version !== undefined) this.#newest = Math.max(this.#newest, version);
    return version;
  }

  async #one(): Promise<boolean> {
    const { random, keys } = this.#deps;
    const key = random.pick(keys);
    const choice = random.below(20);
    if (choice < 5) return this.get(key);
    if (choice < 7) return (await this.list()) !== undefined;
    if (choice < 8) return (await streamOnce(this.#deps, this.#server, this.#patience())) !== undefined;
    const seen = this.#seen.get(key);
    if (choice < 11) return this.#write('delete', key, random.oneIn(2) ? seen?.version : undefined);
    if (choice < 14 || seen === undefined) return this.#write('create', key, undefined);
    return this.#write('update', key, random.oneIn(3) ? undefined : seen.version);
  }

  async #write(kind: Write['kind'], key: string, over: number | undefined): Promise<boolean> {
    const { id, recorder } = this.#deps;
    const value = kind === 'delete' ? undefined : `${id}-${this.#writes++}`;
    const server = this.#server;
    const called = recorder.moment();
    const question = this.#question(kind, key, value, over);
    const answer = await this.#onceMore(question, await this.#ask(question, server));
    const made =
      answer.outcome === 'ok' && value !== undefined && answer.body !== undefined ? foundIn(answer.body) : undefined;
    const claim = claimOf(answer);
    if (answer.outcome === 'ok' || claim !== undefined) this.#saw(key, made);
    recorder.add({
      kind,
      ...this.#asked(server, called, answer),
      key,
      ...(value === undefined ? {} : { value }),
      ...(over === undefined ? {} : { over }),
      ...(made === undefined ? {} : { version: made.version }),
      ...(claim === undefined ? {} : { claim }),
    });
    return answer.outcome === 'ok' || claim !== undefined;
  }

  /** Most ways there are to ask for a write: whatever stands may also be patched, and a create may have a key that makes it safe to ask again. */
  #question(kind: Write['kind'], key: string, value: string | undefined, over: number | undefined): Question {
    const { random } = this.#deps;
    if (kind === 'update' && over === undefined && random.oneIn(2)) {
      const headers = { 'content-type': 'application/merge-patch+json' };
      return { method: 'PATCH', path: `${COLLECTION}/${key}`, body: { data: { value } }, headers };
    }
    const question = questionOf(kind, key, value, over);
    if (kind !== 'create' || random.oneIn(2)) return question;
    return { ...question, headers: { 'idempotency-key': `create-${value}` } };
  }

  /**
   * A create that has a key is asked for again when its outcome is unknown, and now and then when it was done, at whatever server: it is made once all the same,
   * and told to have been. Only what refuses it after an unknown outcome says nothing: the first may still come.
   */
  async #onceMore(question: Question, first: Answer): Promise<Answer> {
    const { random, servers } = this.#deps;
    if (question.headers?.['idempotency-key'] === undefined || first.outcome === 'refused') return first;
    if (first.outcome === 'ok' && !random.oneIn(4)) return first;
    const again = await this.#ask(question, random.below(servers.length));
    const tells = again.outcome === 'ok' || (first.outcome === 'ok' && again.status >= 400 && again.status < 500);
    return tells ? again : { ...first, why: `then ${again.why}` };
  }

  #ask(question: Question, server: number): Promise<Answer> {
    const { servers, clock } = this.#deps;
    return ask(servers[server] as Transport, question, { clock, ms: this.#patience() });
  }

  #asked(server: number, called: number, { outcome, why }: Answer) {
    return { client: this.#deps.id, server, called, outcome, ...(why === undefined ? {} : { why }) };
  }

  #patience(): number {
    return this.#deps.random.pick(PATIENCE_MS);
  }

  #saw(key: string, found: Found | undefined): void {
    if (found === undefined) {
      this.#seen.delete(key);
      return;
    }
    this.#seen.set(key, found);
    this.#newest = Math.max(this.#newest, found.version);
  }
}

function questionOf(kind: Write['kind'], key: string, value: string | undefined, over: number | undefined): Question {
  const version = over === undefined ? {} : { resourceVersion: String(over) };
  if (kind === 'delete') {
    const body = over === undefined ? {} : { body: { preconditions: version } };
    return { method: 'DELETE', path: `${COLLECTION}/${key}`, ...body };
  }
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: key, ...version }, data: { value } };
  if (kind === 'create') return { method: 'POST', path: COLLECTION, body };
  return { method: 'PUT', path: `${COLLECTION}/${key}`, body };
}
