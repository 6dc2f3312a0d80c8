import { createHash, X509Certificate } from 'node:crypto';
import { type ConnectionOptions, connect, type DetailedPeerCertificate, type TLSSocket } from 'node:tls';
import { unreachable } from '../../apiserver/client/https-transport.ts';
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

const TIMEOUT_MS = 5_000;
/** Ours has two. */
const LONGEST_CHAIN = 10;

/**
 * The certificate of the authority, as PEM, that a server shows and that has one of these hashes. Nothing is sent to the server but a handshake, and nothing
 * it shows is believed but for the hash: who trusts what this answers verifies the server by it. Throws `StrangeServerError`, or `UnreachableError`.
 */
export async function pinnedAuthority(
  server: string,
  hashes: readonly string[],
  clock: Clock,
  signal: AbortSignal,
): Promise<string> {
  const chain = await shownBy(server, clock, signal);
  const found = chain.find((der) => hashes.includes(createHash('sha256').update(der).digest('hex')));
  if (found === undefined) throw new StrangeServerError(server);
  return new X509Certificate(found).toString();
}

function shownBy(server: string, clock: Clock, signal: AbortSignal): Promise<readonly Uint8Array[]> {
  const { hostname, port } = new URL(server);
  const host = hostname.replace(/^\[|\]$/g, '');
  const options: ConnectionOptions = { host, port: Number(port || 443), rejectUnauthorized: false };
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const socket: TLSSocket = connect(options);
    const late = () => socket.destroy(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' }));
    const cancel = clock.after(TIMEOUT_MS, late);
    const leave = () => socket.destroy();
    signal.addEventListener('abort', leave, { once: true });
    socket.once('secureConnect', () => {
      resolve(chainOf(socket.getPeerCertificate(true)));
      socket.destroy();
    });
    socket.once('error', (error) => reject(unreachable(server, error, false)));
    socket.once('close', () => {
      cancel();
      signal.removeEventListener('abort', leave);
      reject(signal.aborted ? signal.reason : unreachable(server, new Error('it hung up'), false));
    });
  });
}

function chainOf(leaf: DetailedPeerCertificate): readonly Uint8Array[] {
  const chain: Uint8Array[] = [];
  let certificate: DetailedPeerCertificate | undefined = leaf;
  while (certificate?.raw !== undefined && chain.length < LONGEST_CHAIN) {
    chain.push(certificate.raw);
    // The last one is its own issuer.
    const issuer: DetailedPeerCertificate | undefined = certificate.issuerCertificate;
    certificate = issuer === certificate ? undefined : issuer;
  }
  return chain;
}
