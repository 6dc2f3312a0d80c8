import { ApiError } from '../../resources/meta/api-error.ts';
import type { Eventual } from '../eventual.ts';
import { failure, warningHeaders } from './respond.ts';
import type { ServerResponse } from './server-request.ts';

/** Whoever uses a deprecated version is told so, with whatever answer. `deprecation` undefined: it is not deprecated. */
export function warningOf(
  deprecation: string | undefined,
  answer: () => Eventual<ServerResponse>,
): Eventual<ServerResponse> {
  return deprecation === undefined ? answer() : warned(deprecation, answer);
}

async function warned(deprecation: string, answer: () => Eventual<ServerResponse>): Promise<ServerResponse> {
  const response = await orFailure(answer);
  const { warning = [] } = response.headers ?? {};
  const others = typeof warning === 'string' ? [warning] : warning;
  const told = [...(warningHeaders([deprecation]).warning ?? []), ...others];
  return { ...response, headers: { ...response.headers, warning: told } };
}

async function orFailure(answer: () => Eventual<ServerResponse>): Promise<ServerResponse> {
  try {
    return await answer();
  } catch (error) {
    if (error instanceof ApiError) return failure(error);
    throw error;
  }
}
