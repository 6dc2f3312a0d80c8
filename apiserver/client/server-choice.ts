/**
 * Which of several servers of one control plane to turn to. Whoever shares one learns from the others' failures; a server is kept to until it
 * fails, so that what was written is read where it was written.
 */
export class ServerChoice {
  readonly servers: readonly string[];
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
}
