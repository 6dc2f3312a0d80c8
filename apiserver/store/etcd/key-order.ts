import type { TxnRequest } from '../store.ts';

interface Users {
  writer: Promise<void> | undefined;
  readonly readers: Set<Promise<void>>;
}

interface Place {
  /** Resolves when every earlier transaction that this one must not overtake is answered. */
  readonly turn: Promise<unknown>;
  leave(): void;
}

/**
 * Keeps transactions of this process that share a key in the order they were submitted, as etcd may take parallel calls in any order.
 * Those that share no key, or only compare the same ones, go side by side.
 */
export class KeyOrder {
  readonly #keys = new Map<string, Users>();

  /** Takes a place behind those already there. `leave` once the transaction is answered or given up. */
  enter(request: TxnRequest): Place {
    const { promise: left, resolve } = Promise.withResolvers<void>();
    const before: Promise<void>[] = [];
    const held: (readonly [string, Users])[] = [];
    const written = new Set([...request.puts.map(({ key }) => key), ...request.deletes]);
    for (const key of written) {
      const users = this.#keys.get(key);
      if (users !== undefined) before.push(...users.readers, ...(users.writer === undefined ? [] : [users.writer]));
      const own = { writer: left, readers: new Set<Promise<void>>() };
      this.#keys.set(key, own);
      held.push([key, own]);
    }
    for (const { key } of request.compares) {
      if (written.has(key)) continue;
      const users = this.#keys.get(key) ?? { writer: undefined, readers: new Set() };
      if (users.writer !== undefined) before.push(users.writer);
      users.readers.add(left);
      this.#keys.set(key, users);
      held.push([key, users]);
    }
    const leave = () => {
      resolve();
      for (const [key, users] of held) this.#forget(key, users, left);
    };
    return { turn: Promise.all(before), leave };
  }

  /** Keys that somebody uses. */
  get size(): number {
    return this.#keys.size;
  }

  #forget(key: string, users: Users, left: Promise<void>): void {
    users.readers.delete(left);
    if (users.writer === left) users.writer = undefined;
    if (users.writer === undefined && users.readers.size === 0 && this.#keys.get(key) === users) this.#keys.delete(key);
  }
}
