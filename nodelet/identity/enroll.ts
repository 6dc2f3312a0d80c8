import { createHash } from 'node:crypto';
import { ApiClient } from '../../apiserver/client/client.ts';
import { openFailover } from '../../apiserver/client/failover-transport.ts';
import type { ServerChoice } from '../../apiserver/client/server-choice.ts';
import { UnreachableError } from '../../apiserver/client/unreachable-error.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { EnrollmentToken } from './enrollment-token.ts';
import { newHostKey } from './host-key.ts';
import type { Credentials, IdentityFile } from './identity-file.ts';
import { pinnedAuthority } from './pinned-authority.ts';
import { requestCertificate } from './request-certificate.ts';

export interface EnrollDeps {
  readonly servers: ServerChoice;
  readonly clock: Clock;
  readonly random: () => number;
}

/** How often an enrollment that got no answer is tried again. */
const TRIES = 5;
const AGAIN_MS = 1_000;

/**
 * The identity of a host, which a token makes or makes anew. One that was made by the same token before is answered as it is. The key is kept
 * before it is shown, so that a start which is cut short goes on with the same. Throws `ApiError` when the server refuses, `StrangeServerError` when it is
 * none of those that the token is from, `UnreachableError` when there is none.
 */
export async function enroll(
  token: EnrollmentToken,
  file: IdentityFile,
  deps: EnrollDeps,
  signal: AbortSignal,
): Promise<Credentials> {
  const hash = createHash('sha256').update(token.text).digest('hex');
  const { enrolled, pending } = (await file.read()) ?? {};
  if (enrolled?.token === hash) return enrolled.credentials;
  const key = pending?.token === hash ? pending.key : await newHostKey();
  // What it was known by is of use until it has something else.
  await file.write({ ...(enrolled && { enrolled }), pending: { token: hash, key } });
  const credentials = await persistently(deps, signal, () => certify(token, key, deps, signal));
  await file.write({ enrolled: { token: hash, credentials } });
  return credentials;
}

async function certify(
  token: EnrollmentToken,
  key: string,
  { servers, clock, random }: EnrollDeps,
  signal: AbortSignal,
): Promise<Credentials> {
  const ca = await authorityOfAny(token, servers, clock, signal);
  const authorization = async () => `Bearer ${token.text}`;
  await using transport = openFailover({ servers, clock, random }, (server) => ({ server, ca, authorization }));
  // Awaited here: the connection ends with this function.
  return await requestCertificate(new ApiClient(transport.send), token.host, key, signal);
}

/** The token's authority as the first server shows it that can be reached. */
async function authorityOfAny(
  { authorities }: EnrollmentToken,
  servers: ServerChoice,
  clock: Clock,
  signal: AbortSignal,
): Promise<string> {
  const tried = new Set<string>();
  let failure: unknown;
  for (let server = servers.next(); server !== undefined; server = servers.next(tried)) {
    tried.add(server);
    try {
      return await pinnedAuthority(server, authorities, clock, signal);
    } catch (error) {
      signal.throwIfAborted();
      failure ??= error;
      servers.failed(server);
    }
  }
  throw failure;
}

/** A token may be used again with the same key, so asking again does no harm. */
async function persistently<T>({ clock, random }: EnrollDeps, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  for (let left = TRIES - 1; ; left--) {
    try {
      return await work();
    } catch (error) {
      if (signal.aborted || left === 0 || !(error instanceof UnreachableError) || !error.sent) throw error;
    }
    await clock.sleep(AGAIN_MS * (0.5 + random()), signal);
  }
}
