import { createHash } from 'node:crypto';

/** A hash of a document's bytes, in upper-case hexadecimal: equal bytes, equal hash. */
export function contentHash(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex').toUpperCase();
}

/** The ETag of a document with this hash, with its quotes. */
export const etagOf = (hash: string): string => `"${hash}"`;

/** Whether an `If-None-Match` header names this ETag (RFC 9110 §13.1.2, weak comparison). */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.split(',').some((one) => {
    const tag = one.trim();
    return tag === '*' || tag.replace(/^W\//, '') === etag;
  });
}
