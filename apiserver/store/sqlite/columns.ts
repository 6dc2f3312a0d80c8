import type { SQLOutputValue } from 'node:sqlite';

type Column = SQLOutputValue | undefined;

/** What SQLite hands out, checked: a wrong type in our own tables means a damaged file. */
export function integer(column: Column): number {
  if (typeof column !== 'number') throw new TypeError(`expected an integer in the store, found ${typeof column}`);
  return column;
}

export function text(column: Column): string {
  if (typeof column !== 'string') throw new TypeError(`expected text in the store, found ${typeof column}`);
  return column;
}

/** Undefined for SQL NULL. */
export function blob(column: Column): Uint8Array | undefined {
  if (column === null) return undefined;
  if (!(column instanceof Uint8Array)) throw new TypeError(`expected a blob in the store, found ${typeof column}`);
  return column;
}
