import { ApiError } from '../../resources/meta/api-error.ts';
import { StoreError } from '../store/store.ts';

/** What a promise resolves to; a store failure as the API tells it. */
export async function fromStore<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    throw asApiError(error);
  }
}

/** A store failure as the API tells it; anything else as it is. `UnknownOutcome` has no Retry-After: trying again may do it twice. */
export function asApiError(error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  const options = { cause: error };
  switch (error.reason) {
    case 'NoSpace':
      return new ApiError('InsufficientStorage', `${error.message}; nothing was written`, options);
    case 'TooLarge':
      return new ApiError('RequestEntityTooLarge', error.message, options);
    case 'UnknownOutcome':
      return new ApiError('Timeout', 'the store failed while writing: the write may or may not have happened', options);
    case 'Compacted':
      return new ApiError('Expired', 'The resourceVersion for the provided list is too old.', options);
    default:
      return new ApiError('ServiceUnavailable', `the store is not available: ${error.message}`, {
        ...options,
        details: { retryAfterSeconds: 1 },
      });
  }
}
