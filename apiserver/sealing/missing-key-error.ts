/** The store holds what is sealed with keys that this server was not given. */
export class MissingKeyError extends Error {
  constructor(ids: readonly string[]) {
    super(`the store holds Secrets sealed with another key (${ids.join(', ')})`);
    this.name = 'MissingKeyError';
  }
}
