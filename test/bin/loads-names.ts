import { objectKey } from '../../resources/meta/object.ts';

/** What a relative import found. */
export const loaded: unknown = objectKey;

/** Imports what is not there. */
export function absent(): Promise<unknown> {
  const name = './absent.ts';
  return import(name);
}
