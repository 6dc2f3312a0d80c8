/*
 * Base64 as Go's standard encoding has it: padded, and blind to line breaks.
 */

const CHUNK = 0x8000;

export function encodeBase64(bytes: Uint8Array): string {
  let latin = '';
  for (let at = 0; at < bytes.length; at += CHUNK) latin += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  return btoa(latin);
}

/** The same text without line breaks, or where it goes wrong: the index of the first byte that does not fit. */
export function canonicalBase64(text: string): { readonly text: string } | { readonly wrongAt: number } {
  const plain = /[\r\n]/.test(text) ? text.replace(/[\r\n]/g, '') : text;
  const good = /^[A-Za-z0-9+/]*/.exec(plain)?.[0].length ?? 0;
  const padding = plain.length - good;
  const right = plain.length % 4 === 0 && padding <= 2 && /^=*$/.test(plain.slice(good));
  return right ? { text: plain } : { wrongAt: good };
}

/** How many bytes a canonical text stands for. */
export function base64Length(text: string): number {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return (text.length / 4) * 3 - padding;
}

/** The bytes of a canonical text. */
export function decodeBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
