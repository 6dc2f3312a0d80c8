import { entry } from '../../resources/meta/map-entry.ts';
import { FieldIndex, type IndexedField } from './field-index.ts';
import { RecentEvents } from './recent-events.ts';
import { removedAt, type StoredObject } from './stored-object.ts';

/** One write, as watchers see it. */
export class CacheEvent {
  readonly revision: number;
  /** The object after the write; for a removal, the last object at the revision of the removal. */
  readonly current: StoredObject;
  readonly removed: boolean;
  readonly previous: StoredObject | undefined;
  #encoded: Map<string, Uint8Array> | undefined;
  #settled = false;

  constructor(current: StoredObject, previous: StoredObject | undefined, removed: boolean) {
    this.revision = current.revision;
    this.current = current;
    this.removed = removed;
    this.previous = previous;
  }

  /** Encodings made so far, one a representation: every watcher of it gets the same bytes. Many events have no watcher, and none; one that is settled keeps none. */
  get encoded(): Map<string, Uint8Array> {
    if (this.#settled) return new Map();
    this.#encoded ??= new Map();
    return this.#encoded;
  }

  /** Whoever it was news to has been told: what was made of it is let go of. An object that was changed is likely to be changed again, and is not. */
  settle(): void {
    this.#settled = true;
    this.#encoded = undefined;
    this.previous?.forget?.();
    if (this.previous === undefined || this.removed) this.current.forget?.();
    left.delete(this);
  }
}

const left = new WeakMap<CacheEvent, StoredObject>();

/** What a watcher is told whose selection the object left with this event: the object as it last was in it. Made once an event. */
export function leftBehind(event: CacheEvent): StoredObject {
  if (event.removed || event.previous === undefined) return event.current;
  const made = left.get(event) ?? removedAt(event.previous, event.revision);
  left.set(event, made);
  return made;
}

/** Places at the front of a ring that may be empty. */
const MOST_EMPTY = 1024;

type Listener = (event: CacheEvent) => void;

/** Those objects of a resource that have a text at a field. */
export interface Narrowed {
  readonly field: IndexedField;
  readonly text: string;
}

export interface RingLimits {
  readonly events: number;
  readonly bytes: number;
}

/**
 * The objects of one resource, and a bounded ring of what happened to them. Written only by `WatchCache`, in the step that moves the revision.
 */
export class ResourceCache {
  readonly #objects = new Map<string, StoredObject>();
  /** Keys in byte order. */
  readonly #keys: string[] = [];
  #sorted: readonly StoredObject[] | undefined;
  /** The first `#dropped` places are empty: moving all that come after for every event that goes would take longer than all else a write does here. */
  readonly #ring: (CacheEvent | undefined)[] = [];
  #dropped = 0;
  #ringBytes = 0;
  /** Every event after this revision is in the ring. */
  #ringStart: number;
  readonly #listeners = new Set<Listener>();
  /** Made when a field is first asked for. */
  readonly #indexes = new Map<string, FieldIndex<Listener>>();
  #narrowedListeners = 0;
  readonly #limits: RingLimits;
  readonly #recent: RecentEvents;

  constructor(ringStart: number, limits: RingLimits, recent = new RecentEvents()) {
    this.#ringStart = ringStart;
    this.#limits = limits;
    this.#recent = recent;
  }

  get(key: string): StoredObject | undefined {
    return this.#objects.get(key);
  }

  get size(): number {
    return this.#objects.size;
  }

  /** All objects in key order. The array is never changed: a later write makes a new one. */
  sorted(): readonly StoredObject[] {
    this.#sorted ??= this.#keys.map((key) => this.#objects.get(key) as StoredObject);
    return this.#sorted;
  }

  /** Those of `sorted` that have a text at a field, without a look at the others. */
  having({ field, text }: Narrowed): readonly StoredObject[] {
    const keys = [...this.#indexOf(field).having(text)].sort((a, b) => (a < b ? -1 : 1));
    return keys.map((key) => this.#objects.get(key) as StoredObject);
  }

  /** The events after a revision, or undefined when some are gone from the ring. */
  since(revision: number): readonly CacheEvent[] | undefined {
    if (revision < this.#ringStart) return undefined;
    let low = this.#dropped;
    let high = this.#ring.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#ring[middle]?.revision ?? 0) > revision) high = middle;
      else low = middle + 1;
    }
    return this.#ring.slice(low) as CacheEvent[];
  }

  /** How many watchers listen. */
  get listeners(): number {
    return this.#listeners.size + this.#narrowedListeners;
  }

  get oldestRevision(): number {
    return this.#ringStart;
  }

  /** Hears every later event, or those of objects that have, or had, what it is narrowed to; the returned function stops it. */
  listen(listener: Listener, narrowed?: Narrowed): () => void {
    if (narrowed === undefined) {
      this.#listeners.add(listener);
      return () => this.#listeners.delete(listener);
    }
    const stop = this.#indexOf(narrowed.field).listen(narrowed.text, listener);
    this.#narrowedListeners++;
    return () => {
      stop();
      this.#narrowedListeners--;
    };
  }

  /** An object that was there before the ring begins. */
  load(key: string, stored: StoredObject): StoredObject | undefined {
    const previous = this.#objects.get(key);
    if (previous === undefined) this.#keys.splice(this.#position(key), 0, key);
    this.#objects.set(key, stored);
    this.#sorted = undefined;
    for (const index of this.#indexes.values()) index.move(key, previous, stored);
    return previous;
  }

  put(key: string, stored: StoredObject): CacheEvent {
    const previous = this.load(key, stored);
    return this.#record(new CacheEvent(stored, previous, false));
  }

  remove(key: string, last: StoredObject): CacheEvent {
    const previous = this.#objects.get(key);
    const at = this.#position(key);
    if (this.#keys[at] === key) this.#keys.splice(at, 1);
    this.#objects.delete(key);
    for (const index of this.#indexes.values()) index.move(key, previous, undefined);
    return this.#record(new CacheEvent(last, previous, true));
  }

  /** Forgets all events: nothing is known about what came before this revision. */
  forget(revision: number): void {
    this.#ring.length = 0;
    this.#dropped = 0;
    this.#ringBytes = 0;
    this.#ringStart = revision;
  }

  /** Hands an event to the listeners; called once the cache's revision has moved. */
  publish(event: CacheEvent): void {
    const { previous, current, removed } = event;
    const narrowed = [...this.#indexes.values()].flatMap((index) => [
      ...index.listenersOf(previous, removed ? undefined : current),
    ]);
    for (const listener of [...this.#listeners, ...narrowed]) listener(event);
  }

  #indexOf(field: IndexedField): FieldIndex<Listener> {
    return entry(this.#indexes, field.id, () => new FieldIndex<Listener>(field, this.#objects.values()));
  }

  #record(event: CacheEvent): CacheEvent {
    this.#sorted = undefined;
    this.#recent.add(event);
    this.#ring.push(event);
    this.#ringBytes += event.current.bytes.length;
    while (this.#ring.length - this.#dropped > this.#limits.events || this.#ringBytes > this.#limits.bytes) {
      const oldest = this.#ring[this.#dropped];
      if (oldest === undefined) break;
      this.#ringBytes -= oldest.current.bytes.length;
      this.#ringStart = oldest.revision;
      // Nobody has changed it since, nor is likely to look at it.
      oldest.current.forget?.();
      this.#ring[this.#dropped++] = undefined;
    }
    if (this.#dropped >= MOST_EMPTY) {
      this.#ring.splice(0, this.#dropped);
      this.#dropped = 0;
    }
    return event;
  }

  #position(key: string): number {
    const last = this.#keys.at(-1);
    // A start loads them in order.
    if (last === undefined || last < key) return this.#keys.length;
    let low = 0;
    let high = this.#keys.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#keys[middle] as string) < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
