import { type Ids, NAME_ALPHABET } from './ids.ts';

/** Ids from the platform's cryptographic randomness. Made in entry files only. */
export const systemIds: Ids = {
  uid: () => crypto.randomUUID(),
  suffix(length) {
    let out = '';
    for (const byte of crypto.getRandomValues(new Uint8Array(length)))
      out += NAME_ALPHABET[byte % NAME_ALPHABET.length];
    return out;
  },
  secret(bytes) {
    return [...crypto.getRandomValues(new Uint8Array(bytes))].map((b) => b.toString(16).padStart(2, '0')).join('');
  },
};
