import type { Transport } from '../../apiserver/client/transport.ts';
import { lines } from '../../apiserver/client/watch.ts';
import { type AnswerBody, foundIn } from './ask.ts';
import { COLLECTION, listOnce } from './ask-list.ts';
import type { ClientDeps } from './chaos-client.ts';
import type { WatchEvent } from './history.ts';
import { streamOnce } from './stream-list.ts';

const AFTER_FAILURE_MS = 60;
const PATIENCE_MS = 5_000;
const LONGEST_WATCH_MS = 8_000;
/** Now and then nobody watches for a while, and history goes on. */
const LONGEST_AWAY_MS = 6_000;

type Line = { readonly type: WatchEvent['type'] | 'ERROR'; readonly object: AnswerBody & { readonly code?: number } };

/** Follows all objects as an informer does: lists, watches from there, goes on where a watch ended at whatever server, and lists again when it is told that what it missed is gone. */
export class ChaosWatcher {
  readonly #deps: Omit<ClientDeps, 'keys' | 'longestThinkMs'>;
  #position: number | undefined;
  #target = Number.POSITIVE_INFINITY;
  #relists = -1;

  constructor(deps: Omit<ClientDeps, 'keys' | 'longestThinkMs'>) {
    this.#deps = deps;
  }

  /** How often it had to list again. */
  get relists(): number {
    return Math.max(0, this.#relists);
  }

  /** How far it has been told everything. */
  get position(): number {
    return this.#position ?? 0;
  }

  /** Where it is to end; Infinity while nobody has said. */
  get target(): number {
    return this.#target;
  }

  /** Lets it end once it has come to a version. */
  finishAt(version: number): void {
    this.#target = version;
  }

  /** Goes on until it has come to where it is to end, or the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, servers } = this.#deps;
    while (!signal.aborted && this.position < this.#target) {
      const server = random.below(servers.length);
      const before = this.#position;
      if (before === undefined) await this.#list(server);
      else await this.#watch(server, before, signal);
      const away = random.oneIn(8) && this.#target === Number.POSITIVE_INFINITY;
      if (away || before === this.#position) await clock.sleep(away ? random.below(LONGEST_AWAY_MS) : AFTER_FAILURE_MS);
    }
  }

  async #list(server: number): Promise<void> {
    const wish = { server, mode: 'fresh', patienceMs: PATIENCE_MS, nextServer: () => server } as const;
    const version = this.#deps.random.oneIn(2)
      ? await streamOnce(this.#deps, server, PATIENCE_MS)
      : await listOnce(this.#deps, wish);
    if (version === undefined) return;
    this.#position = version;
    this.#relists += 1;
  }

  async #watch(server: number, from: number, signal: AbortSignal): Promise<void> {
    const { id, recorder, clock, random } = this.#deps;
    const called = recorder.moment();
    const events: WatchEvent[] = [];
    const leave = new AbortController();
    const stop = clock.after(random.below(LONGEST_WATCH_MS), () => leave.abort(new Error('seen enough')));
    let why = 'ended';
    try {
      const ending = Number.isFinite(this.#target) ? 1 : 1 + random.below(LONGEST_WATCH_MS / 1000);
      // The server ends it by a bookmark, if it is not left before.
      const query = `watch=1&allowWatchBookmarks=true&timeoutSeconds=${ending}&resourceVersion=${from}`;
      const send = this.#deps.servers[server] as Transport;
      const answer = await send({
        method: 'GET',
        path: `${COLLECTION}?${query}`,
        signal: AbortSignal.any([signal, leave.signal]),
      });
      for await (const text of lines(answer.body)) {
        const line = JSON.parse(text) as Line;
        if (answer.status !== 200 || line.type === 'ERROR') {
          why = `${answer.status} ${line.object?.code ?? ''}`;
          if (answer.status === 410 || line.object?.code === 410) this.#position = undefined;
          break;
        }
        events.push(eventOf({ type: line.type, object: line.object }, recorder.moment()));
        this.#position = events.at(-1)?.version ?? from;
        if (this.position >= this.#target) break;
      }
    } catch (error) {
      // A connection that breaks, in the middle of a line too, ends the watch; it goes on from the last whole event.
      why = error instanceof Error ? error.message : String(error);
    } finally {
      stop();
      leave.abort();
    }
    recorder.add({ kind: 'watch', client: id, server, called, outcome: 'ok', from, events, why });
  }
}

function eventOf({ type, object }: { type: WatchEvent['type']; object: AnswerBody }, at: number): WatchEvent {
  const { value, version } = foundIn(object);
  return type === 'BOOKMARK' ? { at, type, version } : { at, type, version, key: object.metadata.name, value };
}
