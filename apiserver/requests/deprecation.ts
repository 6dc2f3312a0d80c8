import { ApiError } from '../../resources/meta/api-error.ts';
import { failure, warningHeaders } from './respond.ts';
import type { ServerResponse } from './server-request.ts';

/** Whoever uses a deprecated version is told so, with whatever answer. `deprecation` undefined: it is not deprecated. */
export async function warningOf(
  deprecation: string | undefined,
  answer: () => Promise<ServerResponse>,
): Promise<ServerResponse> {
  if (deprecation === undefined) return answer();
  const response = await answer().catch((error: unknown) => {
    if (error instanceof ApiError) return failure(error);
    throw error;
  });
  const { warning = [] } = response.headers ?? {};
  const others = typeof warning === 'string' ? [warning] : warning;
  const told = [...(warningHeaders([deprecation]).warning ?? []), ...others];
  return { ...response, headers: { ...response.headers, warning: told } };
}
