import { ApiError } from '../../resources/meta/api-error.ts';
import { storedIn } from '../../resources/meta/define-kind.ts';
import { encodeJson } from '../../resources/meta/json.ts';
import { apiVersionOf, resourceId } from '../../resources/meta/resource-id.ts';
import { keyRange } from '../cache/key-range.ts';
import { type CacheEvent, leftBehind, type ResourceCache } from '../cache/resource-cache.ts';
import type { StoredObject } from '../cache/stored-object.ts';
import { viewOf } from '../registry/versions.ts';
import { checkListOptions } from '../requests/list-options.ts';
import { booleanOption, integerOption, resourceVersionOption } from '../requests/options.ts';
import type { ServerResponse } from '../requests/server-request.ts';
import { isDamaged } from '../sealing/damage.ts';
import { EventEncoder, type EventType } from './event-encoder.ts';
import { reach } from './reach.ts';
import { includeObjectOption } from './represent.ts';
import { type Selection, selectionOf } from './selection.ts';
import { UnreadEvents } from './unread-events.ts';
import { inNamespace, type VerbContext } from './verb-context.ts';

/** How far a watcher may fall behind, in bytes, before its stream is ended so that it lists again. */
const QUEUE_BYTES = 8 << 20;
/** How much may be written while a watcher is still reading what there was when it began: that is kept for it alone. */
const PINNED_BYTES = 32 << 20;
/** A watch that asked for bookmarks gets one this long after the revision moved. */
const BOOKMARK_DELAY_MS = 1_000;
/** Without `timeoutSeconds` a watch ends after this long, and up to twice it. */
const DEFAULT_TIMEOUT_MS = 30 * 60_000;
/** What a timer can hold, about 25 days. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;
const SLAB_BYTES = 64 << 10;
/** A reader is given one piece a turn of the loop, so large ones keep up only with large pieces. */
const CUT_BYTES = 256 << 10;

/** GET of a collection with `watch`. */
export async function watch(context: VerbContext): Promise<ServerResponse> {
  const { parts, request, served } = context;
  const { query } = request;
  const selection = selectionOf(served.kind, query);
  checkListOptions(query, true);
  const initial = initialOf(query);
  const timeoutMs = timeoutOf(query, parts.random);
  const version = resourceVersionOption(query.get('resourceVersion'));
  await reach(parts, version, request);
  if (parts.ending.aborted) throw stopping();
  const encoder = new EventEncoder(served.kind, context.representation, includeObjectOption(query), () =>
    parts.clock.now(),
  );
  const watcher = new Watcher(context, selection, encoder);
  watcher.start(beginning(initial, version, parts.cache.revision), initial.mark, timeoutMs);
  return {
    status: 200,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-cache, private' },
    body: watcher.body(),
    live: true,
  };
}

/** A watch that is cut off as soon as it begins makes clients list anew; told to come again, they go on from where they were, here or at another server. */
function stopping(): ApiError {
  return new ApiError('ServiceUnavailable', 'the server begins no watches any more', {
    details: { retryAfterSeconds: 1 },
  });
}

interface Initial {
  /** Begin with every object there is; undefined: as the version says. */
  readonly replay: boolean | undefined;
  /** Tell where they end. */
  readonly mark: boolean;
}

/** `sendInitialEvents`: a streaming list. */
function initialOf(query: URLSearchParams): Initial {
  if (!query.has('sendInitialEvents')) return { replay: undefined, mark: false };
  const replay = booleanOption(query, 'sendInitialEvents');
  return { replay, mark: replay && booleanOption(query, 'allowWatchBookmarks') };
}

/** The revision to go on from; undefined: from every object there is. */
function beginning({ replay }: Initial, version: number | undefined, now: number): number | undefined {
  if (replay === true) return undefined;
  if (version !== undefined && version > 0) return version;
  return replay === false ? now : undefined;
}

function timeoutOf(query: URLSearchParams, random: () => number): number {
  const asked = integerOption(query, 'timeoutSeconds');
  if (asked !== undefined && asked > 0) return Math.min(asked * 1000, MAX_TIMEOUT_MS);
  return DEFAULT_TIMEOUT_MS * (1 + random());
}

/** One watch: filters events, queues them, and lets go of everything when it ends. Events are encoded as they are read. */
class Watcher {
  readonly #queue: UnreadEvents;
  readonly #context: VerbContext;
  readonly #selection: Selection;
  readonly #encoder: EventEncoder;
  readonly #cache: ResourceCache;
  readonly #bookmarks: boolean;
  readonly #release: (() => void)[] = [];
  #initial: Iterable<Uint8Array> = [];
  #unpin = () => {};
  #stopBookmark: (() => void) | undefined;

  constructor(context: VerbContext, selection: Selection, encoder: EventEncoder) {
    this.#context = context;
    this.#selection = selection;
    this.#encoder = encoder;
    this.#cache = context.parts.cache.resource(resourceId(storedIn(context.served.kind)));
    this.#bookmarks = booleanOption(context.request.query, 'allowWatchBookmarks');
    this.#queue = new UnreadEvents(QUEUE_BYTES, context.parts.unread, () => {
      for (const release of this.#release.splice(0)) release();
      if (this.#queue.dropped) this.#tellDropped();
    });
  }

  /**
   * From a revision, or from the objects there are: both are fixed in one step with the first live event, so nothing slips between. They are
   * read at the reader's pace and are not what the queue's bound is for.
   */
  start(from: number | undefined, mark: boolean, timeoutMs: number): void {
    const { parts, request } = this.#context;
    const backlog = from === undefined ? undefined : this.#cache.since(from);
    if (from !== undefined && backlog === undefined) {
      this.#initial = [expired(from, this.#cache.oldestRevision)];
      this.#queue.end();
      return;
    }
    const end = mark ? [this.#bookmarkLine({ 'k8s.io/initial-events-end': 'true' })] : [];
    const { narrowed } = this.#selection;
    const there = () => (narrowed === undefined ? this.#cache.sorted() : this.#cache.having(narrowed));
    this.#initial = backlog === undefined ? this.#objects(there(), end) : this.#events(backlog);
    this.#pin();
    this.#release.push(this.#cache.listen((event) => this.#offer(event), narrowed));
    if (this.#bookmarks) this.#release.push(parts.cache.onMoved(() => this.#moved()));
    // Whoever goes on from an earlier revision is told how far that has moved, even if nothing does from now on.
    if (this.#bookmarks && from !== undefined && from < parts.cache.revision) this.#moved();
    const { unbroken } = parts.cache;
    const ended = AbortSignal.any([request.signal, parts.ending, unbroken, this.#context.served.ending]);
    const onAbort = () => this.#queue.end();
    ended.addEventListener('abort', onAbort, { once: true });
    this.#release.push(() => ended.removeEventListener('abort', onAbort));
    this.#release.push(() => this.#stopBookmark?.());
    this.#release.push(parts.clock.after(timeoutMs, () => this.#timedOut()));
    if (ended.aborted) onAbort();
  }

  /** The stream. Ends the watch when its reader stops. */
  async *body(): AsyncIterable<Uint8Array> {
    try {
      yield* inSlabs(this.#untilDropped(this.#initial));
      this.#initial = [];
      this.#unpin();
      for await (const events of this.#queue)
        yield* inSlabs(events.map((one) => (one.type === 'BOOKMARK' ? one.line : this.#line(one.type, one.event))));
    } finally {
      this.#unpin();
      this.#queue.end();
    }
  }

  *#untilDropped(lines: Iterable<Uint8Array>): Iterable<Uint8Array> {
    for (const line of lines) {
      if (this.#queue.dropped) return;
      yield line;
    }
  }

  /** Ends a reader that does not come to the end of what there was while much is written. */
  #pin(): void {
    const { cache, store } = this.#context.parts;
    const published = () => store.published?.() ?? 0;
    const before = published();
    this.#unpin = cache.onMoved(() => {
      if (published() - before <= PINNED_BYTES) return;
      this.#unpin();
      this.#initial = [];
      this.#queue.drop();
    });
  }

  #tellDropped(): void {
    const { parts, target, identity } = this.#context;
    const fields = { resource: resourceId(this.#context.served.kind), user: identity.user };
    parts.log.info('a watch was ended that does not read', { ...fields, namespace: target.namespace });
  }

  #timedOut(): void {
    if (this.#bookmarks) this.#bookmark();
    this.#queue.end();
  }

  /** Every object as ADDED, and where they end. */
  *#objects(objects: readonly StoredObject[], end: readonly Uint8Array[]): Iterable<Uint8Array> {
    for (const stored of keyRange(objects, this.#context.target.namespace, undefined)) {
      if (this.#selects(stored)) yield this.#encoder.encode('ADDED', stored);
    }
    yield* end;
  }

  *#events(events: readonly CacheEvent[]): Iterable<Uint8Array> {
    for (const event of events) {
      const type = this.#typeFor(event);
      if (type !== undefined) yield this.#line(type, event);
    }
  }

  #selects(stored: StoredObject): boolean {
    // What cannot be read is told of by lists; there is nothing to say of it here.
    if (isDamaged(stored.object)) return false;
    const { object } = viewOf(this.#context.served.kind, stored);
    return inNamespace(object, this.#context.target.namespace) && this.#selection.matches(object);
  }

  /** What an event is to this watcher: entering and leaving its selection are ADDED and DELETED. */
  #typeFor(event: CacheEvent): EventType | undefined {
    const before = event.previous !== undefined && this.#selects(event.previous);
    const after = !event.removed && this.#selects(event.current);
    if (after) return before ? 'MODIFIED' : 'ADDED';
    return before ? 'DELETED' : undefined;
  }

  #line(type: EventType, event: CacheEvent): Uint8Array {
    return this.#encoder.encode(type, type === 'DELETED' ? leftBehind(event) : event.current, event);
  }

  #offer(event: CacheEvent): void {
    const type = this.#typeFor(event);
    if (type !== undefined) this.#queue.push({ type, event });
  }

  /** A bookmark goes out a second after the revision moved, so that a burst of writes costs one. */
  #moved(): void {
    if (this.#stopBookmark !== undefined) return;
    this.#stopBookmark = this.#context.parts.clock.after(BOOKMARK_DELAY_MS, () => {
      this.#stopBookmark = undefined;
      this.#bookmark();
    });
  }

  #bookmark(): void {
    this.#queue.push({ type: 'BOOKMARK', line: this.#bookmarkLine() });
  }

  #bookmarkLine(annotations?: Record<string, string>): Uint8Array {
    const { kind } = this.#context.served;
    return this.#encoder.bookmark({
      kind: kind.kind,
      apiVersion: apiVersionOf(kind),
      metadata: {
        resourceVersion: String(this.#context.parts.cache.revision),
        ...(annotations === undefined ? {} : { annotations }),
      },
    });
  }
}

function expired(from: number, oldest: number): Uint8Array {
  const error = new ApiError('Expired', `too old resource version: ${from} (${oldest})`);
  return new TextEncoder().encode(`${encodeJson({ type: 'ERROR', object: error.toStatus() })}\n`);
}

/** Lines put together to pieces of about 64 KiB; a longer one is not copied, and cut at 256 KiB: it is the same for all who watch. */
function* inSlabs(lines: Iterable<Uint8Array>): Iterable<Uint8Array> {
  let pending: Uint8Array[] = [];
  let bytes = 0;
  for (const line of lines) {
    if (line.length < SLAB_BYTES) {
      pending.push(line);
      bytes += line.length;
      if (bytes < SLAB_BYTES) continue;
    }
    if (pending.length > 0) yield joined(pending);
    [pending, bytes] = [[], 0];
    if (line.length < SLAB_BYTES) continue;
    for (let at = 0; at < line.length; at += CUT_BYTES) yield line.subarray(at, at + CUT_BYTES);
  }
  if (pending.length > 0) yield joined(pending);
}

const joined = (lines: readonly Uint8Array[]): Uint8Array =>
  lines.length === 1 && lines[0] !== undefined ? lines[0] : Buffer.concat(lines);
