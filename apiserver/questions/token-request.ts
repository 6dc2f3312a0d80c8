import { rfc3339 } from '../../resources/ambient/clock.ts';
import { SECRETS, SERVICE_ACCOUNTS } from '../../resources/guards/refs.ts';
import { TOKEN } from '../../resources/kinds/token-request.ts';
import { ApiError, type Cause, conflict, invalid, notFound } from '../../resources/meta/api-error.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import { invalidValue } from '../admission/causes.ts';
import { ISSUER, type ServiceAccountTokens } from '../auth/service-account-tokens.ts';
import type { Answerer, Question } from '../verbs/answer.ts';
import { nameOf, type VerbContext } from '../verbs/verb-context.ts';

const MIN_SECONDS = 600;
const MAX_SECONDS = 2 ** 32;

interface Spec {
  readonly audiences?: readonly string[];
  readonly expirationSeconds: number | bigint;
  readonly boundObjectRef?: BoundObjectRef | null;
}

interface BoundObjectRef {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly name?: string;
  readonly uid?: string;
}

/** Mints a token for a ServiceAccount. It is told this once, and kept nowhere. */
export function tokenRequest(tokens: ServiceAccountTokens): Answerer {
  return async (question, context) => {
    const name = nameOf(context);
    const { namespace } = context.target;
    checkNames(question, name);
    const { world } = context.parts.cache;
    const account = world.get(SERVICE_ACCOUNTS, namespace, name);
    if (account === undefined) throw notFound(SERVICE_ACCOUNTS, name);
    const spec = question.spec as Spec;
    const expirationSeconds = checkedLife(spec.expirationSeconds);
    const boundObjectRef = spec.boundObjectRef ?? null;
    const secret = boundObjectRef === null ? undefined : boundSecret(boundObjectRef, context);
    const audiences = (spec.audiences ?? []).length === 0 ? [ISSUER] : (spec.audiences ?? []);
    const { token, expires } = await tokens.mint({ account, secret, audiences, lifeSeconds: expirationSeconds });
    return {
      ...question,
      metadata: { ...question.metadata, name, namespace, creationTimestamp: rfc3339(context.parts.clock.now()) },
      spec: { audiences, expirationSeconds, boundObjectRef },
      status: { token, expirationTimestamp: expires },
    };
  };
}

/** The name in the body must be that in the URL; that of the namespace was compared already. */
function checkNames({ metadata }: Question, name: string): void {
  if (metadata.name === undefined || metadata.name === '' || metadata.name === name) return;
  const why = 'must match the service account name if specified';
  throw invalid(TOKEN.request, name, [invalidValue('metadata.name', metadata.name, why)]);
}

function checkedLife(seconds: number | bigint): number {
  const refusal = (why: string) => nameless([invalidValue('spec.expirationSeconds', seconds, why)]);
  if (seconds < MIN_SECONDS) throw refusal('may not specify a duration less than 10 minutes');
  if (seconds > MAX_SECONDS) throw refusal('may not specify a duration larger than 2^32 seconds');
  return Number(seconds);
}

function nameless(causes: readonly Cause[]): ApiError {
  const { message, details } = invalid(TOKEN.request, '', causes);
  const { name: _, ...rest } = details ?? {};
  return new ApiError('Invalid', message, { details: rest });
}

function boundSecret({ apiVersion = '', kind = '', name = '', uid }: BoundObjectRef, context: VerbContext): KubeObject {
  const slash = apiVersion.indexOf('/');
  if (slash >= 0 || kind !== 'Secret') {
    const type = `${slash >= 0 ? apiVersion : `/${apiVersion}`}, Kind=${kind}`;
    throw new ApiError('BadRequest', `cannot bind token to object of type ${type}`);
  }
  const secret = context.parts.cache.world.get(SECRETS, context.target.namespace, name);
  if (secret === undefined) throw notFound(SECRETS, name);
  if (uid === undefined || uid === '' || uid === secret.metadata.uid) return secret;
  const why = `the UID in the bound object reference (${uid}) does not match the UID in record (${secret.metadata.uid}). The object might have been deleted and then recreated`;
  throw conflict({ group: '', plural: 'Secret' }, name, why);
}
