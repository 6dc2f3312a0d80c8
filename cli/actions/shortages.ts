import type { Trouble } from './attention.ts';

/** A check that holds and is worth a look all the same, as `/readyz?verbose` tells it. */
const WARNING = /^\[!\](\S+) ok, but (\w+): (.+)$/;

/** What a server that is ready warns of itself. */
export function shortagesIn(health: string): Trouble[] {
  return health.split('\n').flatMap((line) => {
    const [, check, reason, message] = WARNING.exec(line) ?? [];
    if (check === undefined || reason === undefined || message === undefined) return [];
    return [{ object: check === 'store-room' ? 'store' : check, reason, message }];
  });
}
