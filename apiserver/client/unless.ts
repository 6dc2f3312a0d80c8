import { ApiError } from '../../resources/meta/api-error.ts';

/** What a promise is caught with, so that one refusal is undefined. Every other error goes on. */
export function unless(reason: ApiError['reason']): (error: unknown) => undefined {
  return (error) => {
    if (!(error instanceof ApiError) || error.reason !== reason) throw error;
  };
}
