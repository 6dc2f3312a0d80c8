import { X509Certificate } from 'node:crypto';
import { rfc3339 } from '../../resources/ambient/clock.ts';
import { HOSTS } from '../../resources/guards/refs.ts';
import { ApiError, notFound } from '../../resources/meta/api-error.ts';
import type { JsonObject, KubeObject } from '../../resources/meta/object.ts';
import { ENROLLMENT_TOKEN, hostIdentity, roleOf } from '../auth/identity.ts';
import { fromStore } from '../registry/store-failure.ts';
import { writeOptions } from '../requests/write-options.ts';
import type { Answerer, Question } from '../verbs/answer.ts';
import { nameOf, type VerbContext } from '../verbs/verb-context.ts';
import { requestedKey } from './certification-request.ts';
import type { EnrollmentTokens } from './enrollment-tokens.ts';
import { authoritiesHash, type HostAuthorities } from './host-authorities.ts';

/** Who vouches for hosts. */
export interface HostAuthority {
  /** The certificates of all authorities that servers are trusted by, as PEM one after the other. */
  readonly caCert: string;
  /** A client certificate, as PEM, for a public key: SubjectPublicKeyInfo in DER, of the curve P-256. */
  certifyClient(
    subject: { readonly commonName: string; readonly organizations: readonly string[]; readonly serial: string },
    publicKey: Uint8Array,
  ): Promise<string>;
}

/** How a machine becomes a host, and stays one: a token from the operator, a certificate for it, and another one before that ends. */
export class HostEnrollment {
  readonly #tokens: EnrollmentTokens;
  readonly #authority: HostAuthority | undefined;
  readonly #told: HostAuthorities;

  constructor(tokens: EnrollmentTokens, authority: HostAuthority | undefined, told: HostAuthorities) {
    this.#tokens = tokens;
    this.#told = told;
    this.#authority = authority;
  }

  /** A token for a Host that is there: what it is called and which group it is in are the operator's to say. */
  readonly token: Answerer = async (question, context) => {
    refuseDryRun(context);
    const { signal } = context.request;
    const host = await currentHost(context);
    const pems = this.#needAuthority().caCert.match(CERTIFICATE) ?? [];
    const authorities = pems.map((pem) => new X509Certificate(pem).raw);
    const { expirationSeconds } = question.spec as { expirationSeconds: number | bigint };
    const lifeMs = Number(expirationSeconds) * 1000;
    const { token, expiresAtMs } = await this.#tokens.mint(host.metadata, authorities, lifeMs, signal);
    return answered(question, context, { token, expirationTimestamp: rfc3339(expiresAtMs) });
  };

  /** A certificate bound to the Host of this moment, for its nodelet or for who shows its token. */
  readonly certificate: Answerer = async (question, context) => {
    refuseDryRun(context);
    const { identity, request } = context;
    const host = await currentHost(context);
    const { name, uid } = host.metadata;
    const key = await requestedKey((question.spec as { request: string }).request);
    const authority = this.#needAuthority();
    // Read once: another one may issue by the time this is answered, and then the host asks again.
    const { caCert } = authority;
    const { user, groups } = hostIdentity(name);
    const subject = { commonName: user, organizations: groups.slice(0, 1), serial: uid };
    const certificate = await authority.certifyClient(subject, key);
    if (roleOf(identity) === 'enroller') {
      if (identity.uid !== uid) throw new ApiError('Forbidden', `the token is for a Host ${name} that is gone`);
      // Last, so that a token is not used up for nothing.
      await this.#tokens.use(identity.extra?.[ENROLLMENT_TOKEN]?.[0] ?? '', key, request.signal);
    }
    await this.#told.note({ name, uid }, caCert);
    const ends = new X509Certificate(certificate).validToDate.getTime();
    const status = { certificate, authorities: caCert, expirationTimestamp: rfc3339(ends) };
    return answered({ ...question, spec: {} }, context, status);
  };

  /** Which store a nodelet's orders come from, and whom it is to trust. */
  readonly controlPlane: Answerer = async (question, context) => {
    const { store } = context.parts;
    await currentHost(context);
    const revision = await fromStore(store.latest?.(context.request) ?? Promise.resolve(store.revision()));
    const authorities = authoritiesHash(this.#authority?.caCert ?? '');
    return answered(question, context, {
      storeUID: store.uid,
      revision,
      ...(this.#authority === undefined ? {} : { authorities }),
    });
  };

  #needAuthority(): HostAuthority {
    if (this.#authority !== undefined) return this.#authority;
    throw new ApiError('ServiceUnavailable', 'this server enrolls no hosts: it has no certificate authority');
  }
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

function answered(question: Question, context: VerbContext, status: JsonObject): JsonObject {
  const creationTimestamp = rfc3339(context.parts.clock.now());
  return { ...question, metadata: { name: nameOf(context), creationTimestamp }, status };
}

/** The Host in the URL, made on another server a moment ago too. */
async function currentHost(context: VerbContext): Promise<KubeObject> {
  const { cache } = context.parts;
  await cache.caughtUp(context.request.signal);
  const name = nameOf(context);
  const host = cache.world.get(HOSTS, undefined, name);
  if (host === undefined) throw notFound(HOSTS, name);
  return host;
}

function refuseDryRun({ request }: VerbContext): void {
  if (writeOptions(request.query, 'CreateOptions').dryRun)
    throw new ApiError('BadRequest', 'dryRun: what is minted here cannot be tried without being minted');
}
