import { rfc3339 } from '../../resources/ambient/clock.ts';
import { Policy } from '../../resources/kinds/policy.ts';
import { ApiError, notFound } from '../../resources/meta/api-error.ts';
import { JOIN_TOKEN_HASH } from '../auth/identity.ts';
import { writeOptions } from '../requests/write-options.ts';
import type { Answerer } from '../verbs/answer.ts';
import { nameOf, type VerbContext } from '../verbs/verb-context.ts';
import type { JoinTokens } from './join-tokens.ts';

/** What a new server is given. */
export interface JoinMaterial {
  /** SHA-256 of the public keys of the authorities that are trusted, in hex. */
  readonly authorities: readonly string[];
  /** What is in the folder of keys, by the name of the file. */
  readonly files: Readonly<Record<string, string>>;
}

/** How a new API server gets the keys of the fleet: a token from the operator, and the keys for the token, once. */
export class ServerJoining {
  readonly #tokens: JoinTokens;
  readonly #material: (() => JoinMaterial) | undefined;

  /** `material` reads what there is now; without it no server can be let in here. */
  constructor(tokens: JoinTokens, material: (() => JoinMaterial) | undefined) {
    this.#tokens = tokens;
    this.#material = material;
  }

  readonly token: Answerer = async (question, context) => {
    needPolicy(context);
    refuseDryRun(context);
    const { authorities } = this.#read();
    const { expirationSeconds } = question.spec as { expirationSeconds: number | bigint };
    const { token, expiresAtMs } = await this.#tokens.mint(Number(expirationSeconds) * 1000, context.request.signal);
    const status = { token, authorities, expirationTimestamp: rfc3339(expiresAtMs) };
    return { ...question, metadata: { name: nameOf(context) }, status };
  };

  readonly join: Answerer = async (question, context) => {
    needPolicy(context);
    refuseDryRun(context);
    const { files } = this.#read();
    await this.#tokens.use(context.identity.extra?.[JOIN_TOKEN_HASH]?.[0] ?? '', context.request.signal);
    return { ...question, metadata: { name: nameOf(context) }, status: { files } };
  };

  #read(): JoinMaterial {
    if (this.#material !== undefined) return this.#material();
    throw new ApiError('ServiceUnavailable', 'this server lets no other in: it has no folder of keys');
  }
}

function needPolicy(context: VerbContext): void {
  const name = nameOf(context);
  if (context.parts.cache.world.get(Policy, undefined, name) === undefined) throw notFound(Policy, name);
}

function refuseDryRun({ request }: VerbContext): void {
  if (writeOptions(request.query, 'CreateOptions').dryRun)
    throw new ApiError('BadRequest', 'dryRun: what is told once cannot be tried without being told');
}
