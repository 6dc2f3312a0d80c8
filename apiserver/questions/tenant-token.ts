import { rfc3339 } from '../../resources/ambient/clock.ts';
import { TENANTS } from '../../resources/guards/refs.ts';
import { ApiError, forbidden, notFound } from '../../resources/meta/api-error.ts';
import type { TenantTokens } from '../auth/tenant-tokens.ts';
import { writeOptions } from '../requests/write-options.ts';
import type { Answerer } from '../verbs/answer.ts';
import { nameOf } from '../verbs/verb-context.ts';

/** Mints the token of a Tenant in place of the one before. It is told this once; the store has its hash. */
export function tenantToken(tokens: TenantTokens): Answerer {
  return async (question, context) => {
    const { request, parts } = context;
    const { signal } = request;
    if (writeOptions(request.query, 'CreateOptions').dryRun)
      throw new ApiError('BadRequest', 'dryRun: what is minted here cannot be tried without being minted');
    const name = nameOf(context);
    // Made on another server a moment ago it is known here too.
    await parts.cache.caughtUp(signal);
    const tenant = parts.cache.world.get(TENANTS, undefined, name);
    if (tenant === undefined) throw notFound(TENANTS, name);
    if (tenant.metadata.deletionTimestamp !== undefined)
      throw forbidden(TENANTS, name, 'it is being deleted, and its tokens are no good any more');
    const token = await tokens.mint(tenant.metadata, signal);
    const metadata = { name, creationTimestamp: rfc3339(parts.clock.now()) };
    return { ...question, metadata, status: { token } };
  };
}
