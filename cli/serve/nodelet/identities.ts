import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerChoice } from '../../../apiserver/client/server-choice.ts';
import { UnreachableError } from '../../../apiserver/client/unreachable-error.ts';
import { type EnrollDeps, enroll } from '../../../nodelet/identity/enroll.ts';
import type { EnrollmentToken } from '../../../nodelet/identity/enrollment-token.ts';
import { type Credentials, IdentityFile } from '../../../nodelet/identity/identity-file.ts';
import { StrangeServerError } from '../../../nodelet/identity/pinned-authority.ts';
import { ApiError } from '../../../resources/meta/api-error.ts';
import { Failure } from '../../failure.ts';
import type { Home } from '../home.ts';

/** A host of this home, and what it is known by. */
export interface KnownHost {
  readonly name: string;
  readonly file: IdentityFile;
  readonly credentials: Credentials;
}

/** Hosts enrolled at the same time. */
const AT_ONCE = 8;

/** The hosts of a home: those it has, and those that tokens make, by name. Throws a `Failure` when one of them has no identity. */
export async function openIdentities(
  home: Home,
  tokens: readonly EnrollmentToken[],
  deps: EnrollDeps & { readonly servers: ServerChoice },
  signal: AbortSignal,
): Promise<readonly KnownHost[]> {
  const all = hostNames(home, tokens);
  if (all.length === 0)
    throw new Failure(`${home.path} has no host`, {
      hint: 'an operator makes a token with "coppice host token NAME"; give it with --token',
    });
  const hosts: KnownHost[] = [];
  for (let at = 0; at < all.length; at += AT_ONCE) {
    const some = all.slice(at, at + AT_ONCE).map((name) => {
      const token = tokens.find(({ host }) => host === name);
      return openIdentity(name, new IdentityFile(home.host(name)), token, deps, signal);
    });
    hosts.push(...(await Promise.all(some)));
  }
  return hosts;
}

/** What the hosts of a home are called: those it has, and those that tokens make. */
export function hostNames(home: Home, tokens: readonly EnrollmentToken[]): readonly string[] {
  const names = new Set([...namesIn(home), ...tokens.map(({ host }) => host)]);
  return [...names].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
}

function namesIn(home: Home): readonly string[] {
  const folder = join(home.path, 'hosts');
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(new IdentityFile(home.host(entry.name)).path))
    .map(({ name }) => name);
}

async function openIdentity(
  name: string,
  file: IdentityFile,
  token: EnrollmentToken | undefined,
  deps: EnrollDeps,
  signal: AbortSignal,
): Promise<KnownHost> {
  if (token !== undefined) {
    const credentials = await enroll(token, file, deps, signal).catch((error: unknown) => {
      throw enrollFailure(error, name);
    });
    return { name, file, credentials };
  }
  const kept = await file.read();
  if (kept?.enrolled === undefined)
    throw new Failure(`host ${name} was never enrolled`, {
      hint: `give its token again with --token, or another one of "coppice host token ${name}"`,
    });
  return { name, file, credentials: kept.enrolled.credentials };
}

function enrollFailure(error: unknown, name: string): unknown {
  const again = `make another with "coppice host token ${name}"`;
  if (error instanceof StrangeServerError) {
    const hint = 'look at the address; a token is for the servers of one control plane';
    return new Failure(error.message, { hint, cause: error });
  }
  if (error instanceof UnreachableError) {
    const hint = 'look at --server, and whether that server runs';
    return new Failure(error.message, { hint, cause: error });
  }
  if (!(error instanceof ApiError)) return error;
  const message = `host ${name} was not enrolled: ${error.message}`;
  if (error.reason === 'Unauthorized')
    return new Failure(`host ${name} was not enrolled: its token is not known, was used, or its time is over`, {
      hint: again,
      cause: error,
    });
  return new Failure(message, { hint: again, cause: error });
}
