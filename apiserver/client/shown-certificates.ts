import { X509Certificate } from 'node:crypto';
import { connect, type DetailedPeerCertificate } from 'node:tls';
import type { Clock } from '../../resources/ambient/clock.ts';
import { unreachable } from './https-transport.ts';

const TIMEOUT_MS = 5_000;
/** Ours has two. */
const LONGEST_CHAIN = 10;

/**
 * The certificates that a server shows, its own first. Nothing is sent to the server but a handshake, and nothing it shows is believed: whoever asks
 * judges them by what it knows already. Throws `UnreachableError`.
 */
export function shownCertificates(
  server: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<readonly X509Certificate[]> {
  const { hostname, port } = new URL(server);
  const host = hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const socket = connect({ host, port: Number(port || 443), rejectUnauthorized: false });
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

function chainOf(leaf: DetailedPeerCertificate): readonly X509Certificate[] {
  const chain: X509Certificate[] = [];
  let certificate: DetailedPeerCertificate | undefined = leaf;
  while (certificate?.raw !== undefined && chain.length < LONGEST_CHAIN) {
    chain.push(new X509Certificate(certificate.raw));
    // The last one is its own issuer.
    const issuer: DetailedPeerCertificate | undefined = certificate.issuerCertificate;
    certificate = issuer === certificate ? undefined : issuer;
  }
  return chain;
}
