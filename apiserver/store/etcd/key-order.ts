import type { TxnRequest } from '../store.ts';

interface Users {
  writer: Place | undefined;
  readonly readers: Set<Place>;
}

/**
 * Keeps transactions of this process that share a key in the order they were submitted, as etcd may take parallel calls in any order.
 * Those that share no key, or only compare the same ones, go side by side.
 */
export class KeyOrder {
  readonly #keys = new Map<string, Users>();

  /** Takes a place behind those already there. `leave` once the transaction is answered or given up. */
  enter({ compares, puts, deletes }: TxnRequest): Place {
    const place = new Place(this.#keys);
    for (const { key } of puts) this.#write(key, place);
    for (const key of deletes) this.#write(key, place);
    for (const { key } of compares) this.#read(key, place);
    return place;
  }

  /** Keys that somebody uses. */
  get size(): number {
    return this.#keys.size;
  }

  #write(key: string, place: Place): void {
    const users = this.#keys.get(key);
    if (users !== undefined) {
      for (const reader of users.readers) place.follow(reader);
      if (users.writer !== undefined) place.follow(users.writer);
    }
    const own = { writer: place, readers: new Set<Place>() };
    this.#keys.set(key, own);
    place.hold(key, own);
  }

  #read(key: string, place: Place): void {
    const users = this.#keys.get(key) ?? { writer: undefined, readers: new Set() };
    // What it writes itself it holds already.
    if (users.writer === place) return;
    if (users.writer !== undefined) place.follow(users.writer);
    users.readers.add(place);
    this.#keys.set(key, users);
    place.hold(key, users);
  }
}

/** The place of one transaction. Promises are made only for those that wait: most share a key with none. */
class Place {
  readonly #keys: Map<string, Users>;
  readonly #held: (readonly [string, Users])[] = [];
  #before: Promise<void>[] | undefined;
  #left: PromiseWithResolvers<void> | undefined;

  constructor(keys: Map<string, Users>) {
    this.#keys = keys;
  }

  /** Resolves when every earlier transaction that this one must not overtake is answered; undefined where there is none. */
  get turn(): Promise<unknown> | undefined {
    return this.#before && Promise.all(this.#before);
  }

  follow(other: Place): void {
    if (other === this) return;
    this.#before ??= [];
    this.#before.push(other.#gone);
  }

  hold(key: string, users: Users): void {
    this.#held.push([key, users]);
  }

  leave(): void {
    this.#left?.resolve();
    for (const [key, users] of this.#held) this.#forget(key, users);
  }

  /** Only asked for while it is held. */
  get #gone(): Promise<void> {
    this.#left ??= Promise.withResolvers();
    return this.#left.promise;
  }

  #forget(key: string, users: Users): void {
    users.readers.delete(this);
    if (users.writer === this) users.writer = undefined;
    if (users.writer === undefined && users.readers.size === 0 && this.#keys.get(key) === users) this.#keys.delete(key);
  }
}
