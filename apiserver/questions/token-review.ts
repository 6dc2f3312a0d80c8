import { ApiError } from '../../resources/meta/api-error.ts';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import type { BearerTokens } from '../auth/bearer-tokens.ts';
import { isTenantDisabled } from '../auth/enabled-tenant.ts';
import { ISSUER } from '../auth/service-account-tokens.ts';
import { TokenRefused } from '../auth/token-refused.ts';
import type { Answerer } from '../verbs/answer.ts';
import { userInfoOf } from './user-info.ts';

/** Whose is this token? */
export function tokenReview(bearerTokens: BearerTokens): Answerer {
  return async (question, { request }) => {
    const { token = '', audiences = [] } = (isObject(question.spec) ? question.spec : {}) as Spec;
    if (token === '') throw new ApiError('BadRequest', 'token is required for TokenReview in authentication');
    const asked = audiences.length === 0 ? [ISSUER] : audiences;
    return { ...question, status: await judge(() => bearerTokens(token, asked, request)) };
  };
}

interface Spec {
  readonly token?: string;
  readonly audiences?: readonly string[];
}

async function judge(identify: () => ReturnType<BearerTokens>): Promise<JsonObject> {
  try {
    const { identity, audiences } = await identify();
    return { authenticated: true, user: userInfoOf(identity), audiences };
  } catch (error) {
    if (!(error instanceof TokenRefused) && !isTenantDisabled(error)) throw error;
    return { user: {}, error: `invalid bearer token: ${error.message}` };
  }
}
