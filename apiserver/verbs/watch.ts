import { ApiError } from '../../resources/meta/api-error.ts';
import { encodeJson } from '../../resources/meta/json.ts';
import { apiVersionOf, resourceId } from '../../resources/meta/resource-id.ts';
import type { CacheEvent, ResourceCache } from '../cache/resource-cache.ts';
import { removedAt, type StoredObject } from '../cache/stored-object.ts';
import { booleanOption, integerOption, invalidOption, resourceVersionOption } from '../requests/options.ts';
import type { ServerResponse } from '../requests/server-request.ts';
import { ByteQueue } from './byte-queue.ts';
import { EventEncoder, type EventType } from './event-encoder.ts';
import { reach } from './reach.ts';
import { includeObjectOption } from './represent.ts';
import { type Selection, selectionOf } from './selection.ts';
import { inNamespace, type VerbContext } from './verb-context.ts';

/** How far a watcher may fall behind, in bytes, before its stream is ended so that it lists again. */
const QUEUE_BYTES = 8 << 20;
/** A watch that asked for bookmarks gets one this long after the revision moved. */
const BOOKMARK_DELAY_MS = 1_000;
/** Without `timeoutSeconds` a watch ends after this long, and up to twice it. */
const DEFAULT_TIMEOUT_MS = 30 * 60_000;

/** GET of a collection with `watch`. */
export async function watch(context: VerbContext): Promise<ServerResponse> {
  const { parts, request, served } = context;
  const { query } = request;
  const selection = selectionOf(served.kind, query);
  const initial = initialOf(query);
  const version = resourceVersionOption(query.get('resourceVersion'));
  await reach(parts, version, request.signal);
  const encoder = new EventEncoder(served.kind, context.representation, includeObjectOption(query), () =>
    parts.clock.now(),
  );
  const watcher = new Watcher(context, selection, encoder);
  watcher.start(initial.replay || version === undefined || version === 0 ? undefined : version, initial.mark);
  return {
    status: 200,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-cache, private' },
    body: watcher.queue,
  };
}

interface Initial {
  /** Begin with every object there is. */
  readonly replay: boolean;
  /** Tell where they end. */
  readonly mark: boolean;
}

/** `sendInitialEvents` (a streaming list) and what must stand beside it. */
function initialOf(query: URLSearchParams): Initial {
  const match = query.get('resourceVersionMatch') ?? '';
  if (!query.has('sendInitialEvents')) {
    if (match !== '') {
      throw invalidOption(
        'ListOptions',
        'resourceVersionMatch',
        'FieldValueForbidden',
        'Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
      );
    }
    return { replay: false, mark: false };
  }
  const send = booleanOption(query, 'sendInitialEvents');
  if (match !== 'NotOlderThan') {
    throw invalidOption(
      'ListOptions',
      'resourceVersionMatch',
      'FieldValueForbidden',
      'Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
    );
  }
  return { replay: send, mark: send && booleanOption(query, 'allowWatchBookmarks') };
}

/** One watch: filters events, queues their bytes, and lets go of everything when it ends. */
class Watcher {
  readonly queue: ByteQueue;
  readonly #context: VerbContext;
  readonly #selection: Selection;
  readonly #encoder: EventEncoder;
  readonly #cache: ResourceCache;
  readonly #bookmarks: boolean;
  readonly #release: (() => void)[] = [];
  #stopBookmark: (() => void) | undefined;

  constructor(context: VerbContext, selection: Selection, encoder: EventEncoder) {
    this.#context = context;
    this.#selection = selection;
    this.#encoder = encoder;
    this.#cache = context.parts.cache.resource(resourceId(context.served.kind));
    this.#bookmarks = booleanOption(context.request.query, 'allowWatchBookmarks');
    this.queue = new ByteQueue(QUEUE_BYTES, () => {
      for (const release of this.#release.splice(0)) release();
    });
  }

  /** From a revision, or from the objects there are. All of it in one step with the first live event: nothing slips between. */
  start(from: number | undefined, mark: boolean): void {
    const { parts, request } = this.#context;
    const backlog = from === undefined ? undefined : this.#cache.since(from);
    if (from !== undefined && backlog === undefined) {
      this.#fail(new ApiError('Expired', `too old resource version: ${from} (${this.#cache.oldestRevision})`));
      return;
    }
    if (backlog === undefined) this.#replay();
    else for (const event of backlog) this.#offer(event);
    if (mark) this.#bookmark({ 'k8s.io/initial-events-end': 'true' });
    this.#release.push(this.#cache.listen((event) => this.#offer(event)));
    if (this.#bookmarks) this.#release.push(parts.cache.onMoved(() => this.#moved()));
    const onAbort = () => this.queue.end();
    request.signal.addEventListener('abort', onAbort, { once: true });
    this.#release.push(() => request.signal.removeEventListener('abort', onAbort));
    this.#release.push(() => this.#stopBookmark?.());
    this.#release.push(parts.clock.after(this.#timeoutMs(), () => this.#timedOut()));
    if (request.signal.aborted || this.queue.ended) onAbort();
  }

  #timeoutMs(): number {
    const asked = integerOption(this.#context.request.query, 'timeoutSeconds');
    if (asked !== undefined && asked > 0) return asked * 1000;
    return DEFAULT_TIMEOUT_MS * (1 + this.#context.parts.random());
  }

  #timedOut(): void {
    if (this.#bookmarks) this.#bookmark();
    this.queue.end();
  }

  #replay(): void {
    for (const stored of this.#cache.sorted()) {
      if (this.#selects(stored)) this.queue.push(this.#encoder.encode('ADDED', stored));
    }
  }

  #selects(stored: StoredObject): boolean {
    return inNamespace(stored.object, this.#context.target.namespace) && this.#selection.matches(stored.object);
  }

  #offer(event: CacheEvent): void {
    const before = event.previous !== undefined && this.#selects(event.previous);
    const after = !event.removed && this.#selects(event.current);
    if (after) this.#send(before ? 'MODIFIED' : 'ADDED', event.current, event);
    // A removal tells the object as it was last; leaving the selection tells it as it last matched.
    else if (before && event.previous !== undefined) {
      this.#send('DELETED', event.removed ? event.current : removedAt(event.previous, event.revision), event);
    }
  }

  #send(type: EventType, stored: StoredObject, event: CacheEvent): void {
    this.queue.push(this.#encoder.encode(type, stored, event));
  }

  /** A bookmark goes out a second after the revision moved, so that a burst of writes costs one. */
  #moved(): void {
    if (this.#stopBookmark !== undefined) return;
    this.#stopBookmark = this.#context.parts.clock.after(BOOKMARK_DELAY_MS, () => {
      this.#stopBookmark = undefined;
      if (!this.queue.ended) this.#bookmark();
    });
  }

  #bookmark(annotations?: Record<string, string>): void {
    const { kind } = this.#context.served;
    this.queue.push(
      this.#encoder.bookmark({
        kind: kind.kind,
        apiVersion: apiVersionOf(kind),
        metadata: {
          resourceVersion: String(this.#context.parts.cache.revision),
          creationTimestamp: null,
          ...(annotations === undefined ? {} : { annotations }),
        },
      }),
    );
  }

  #fail(error: ApiError): void {
    this.queue.push(new TextEncoder().encode(`${encodeJson({ type: 'ERROR', object: error.toStatus() })}\n`));
    this.queue.end();
  }
}
