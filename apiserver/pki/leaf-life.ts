import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';

/** A certificate and its private key, as PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

export const DAY_MS = 24 * 3600 * 1000;
export const LEAF_DAYS = 90;

/** Whether a leaf should be replaced: less than a third of its life is left, or it does not cover these names. */
export function shouldRenew(certPem: string, names: readonly string[], nowMs: number): boolean {
  const cert = new X509Certificate(certPem);
  if (cert.validToDate.getTime() - nowMs < (LEAF_DAYS * DAY_MS) / 3) return true;
  return names.some((name) => (isIP(name) === 0 ? cert.checkHost(name) : cert.checkIP(name)) === undefined);
}

/** Whether a pair belongs together and its certificate is this authority's; false too for what does not parse. */
export function vouches(authorityCert: string, { cert, key }: KeyPair): boolean {
  try {
    const leaf = new X509Certificate(cert);
    return leaf.checkPrivateKey(createPrivateKey(key)) && leaf.verify(new X509Certificate(authorityCert).publicKey);
  } catch {
    // A file cut short by a crash is no pair.
    return false;
  }
}
