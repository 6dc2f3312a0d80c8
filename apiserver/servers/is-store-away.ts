import { ApiError } from '../../resources/meta/api-error.ts';

/** Whether something failed because the store is out of reach, which the log tells once, when that begins. */
export function isStoreAway(error: unknown): boolean {
  return error instanceof ApiError && error.reason === 'ServiceUnavailable';
}
