import { ENROLLMENT_TOKENS, JOIN_TOKENS } from '../auth/token-prefixes.ts';
import type { KeyValue } from '../store/copy/fill-store.ts';

/**
 * Keys that no backup has, and that no restore brings back from an older one that has them: tokens that are good once. In a backup one is as it was then,
 * and would be good again after it was used.
 */
export const LEFT_OUT: readonly string[] = [JOIN_TOKENS, ENROLLMENT_TOKENS];

/** The entries that belong into a backup. */
export function withoutLeftOut<T extends KeyValue>(entries: readonly T[]): readonly T[] {
  return entries.filter(({ key }) => !LEFT_OUT.some((prefix) => key.startsWith(prefix)));
}
