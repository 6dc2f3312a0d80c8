import { createHash } from 'node:crypto';
import { shownCertificates } from '../../apiserver/client/shown-certificates.ts';
import type { Clock } from '../../resources/ambient/clock.ts';

/** A server shows no certificate of the authorities that the token names: it is another's, or somebody stands in between. */
export class StrangeServerError extends Error {
  constructor(server: string) {
    super(
      `${server} is not of the control plane that the token is from: none of its certificates is the one in the token`,
    );
    this.name = 'StrangeServerError';
  }
}

/**
 * The certificate of the authority, as PEM, that a server shows and that has one of these hashes: who trusts it verifies the server by it. Throws
 * `StrangeServerError`, or `UnreachableError`.
 */
export async function pinnedAuthority(
  server: string,
  hashes: readonly string[],
  clock: Clock,
  signal: AbortSignal,
): Promise<string> {
  const shown = await shownCertificates(server, clock, signal);
  const found = shown.find(({ raw }) => hashes.includes(createHash('sha256').update(raw).digest('hex')));
  if (found === undefined) throw new StrangeServerError(server);
  return found.toString();
}
