/**
 * Which of several servers of one control plane to turn to. Whoever shares one learns from the others' failures; a server is kept to until it
 * fails, so that what was written is read where it was written.
 */
export class ServerChoice {
  readonly servers: readonly string[];
  readonly #listeners = new Set<(server: string) => void>();
  #preferred: number;

  /** `servers` are addresses, at least one. `random` is in [0, 1): clients of many processes spread over the servers. */
  constructor(servers: readonly string[], random: () => number) {
    if (servers.length === 0) throw new TypeError('there is no server to choose');
    this.servers = [...new Set(servers)];
    this.#preferred = Math.floor(random() * this.servers.length);
  }

  /** The server to try, the one that served last first; undefined when each is among `tried`. */
  next(tried: ReadonlySet<string> = new Set()): string | undefined {
    const { servers } = this;
    const inTurn = [...servers.slice(this.#preferred), ...servers.slice(0, this.#preferred)];
    return inTurn.find((server) => !tried.has(server));
  }

  /** A server could not be reached, or cannot serve: another goes first from now on. */
  failed(server: string): void {
    // Of many requests that failed with it only the first says something new.
    if (this.servers[this.#preferred] === server) this.#preferred = (this.#preferred + 1) % this.servers.length;
  }

  /** A server is silent: it may be halted, or cut off, and whatever waits for it may wait for long. Another goes first from now on. */
  silent(server: string): void {
    this.failed(server);
    for (const listener of [...this.#listeners]) listener(server);
  }

  /** Hears of servers that are silent; the returned function stops it. */
  onSilent(listener: (server: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
