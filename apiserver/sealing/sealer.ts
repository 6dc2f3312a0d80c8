import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { KEY_ID_LENGTH, sealingKeyId } from './sealing-key-id.ts';
import { UnsealError } from './unseal-error.ts';

const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** What every sealed value begins with; no JSON does. */
const MAGIC = 'coppice-sealed/1';
const FIRST = MAGIC.charCodeAt(0);
const LINE_END = 0x0a;
const HEADER = new RegExp(`^${MAGIC} ([0-9a-f]{${KEY_ID_LENGTH}}) ([^ \\n]*)$`);
const MAX_HEADER = 512;

interface Key {
  readonly id: string;
  readonly bytes: Buffer;
}

/**
 * Seals values for the store: a header line (format, key, uid of the object), nonce, ciphertext, tag. The header and the place of the value are
 * authenticated, so that none can be put in another's place.
 */
export class Sealer {
  readonly #missing = new Set<string>();
  /** The first seals. */
  #keys: ReadonlyMap<string, Key>;
  #current: Key;
  #reread: () => void = () => {};

  /** Keys of 32 bytes in hex: the first seals, all of them open. Throws when one is none. */
  constructor(keys: readonly string[]) {
    [this.#current, this.#keys] = ringOf(keys);
  }

  /** Seals with the first of these from now on. What it ever opened with, it goes on opening with. */
  replace(keys: readonly string[]): void {
    const [current, ring] = ringOf(keys);
    this.#current = current;
    this.#keys = new Map([...this.#keys, ...ring]);
    for (const id of ring.keys()) this.#missing.delete(id);
  }

  /** `reread` is called, once a key, before a value is given up because its key is not here; it may call `replace`. */
  onMissing(reread: () => void): void {
    this.#reread = reread;
  }

  /** The id of the key that seals. */
  get currentId(): string {
    return this.#current.id;
  }

  /** The ids of all keys, that of the one that seals first. */
  get ids(): readonly string[] {
    return [this.#current.id, ...[...this.#keys.keys()].filter((id) => id !== this.#current.id)];
  }

  /** Ids of keys that values asked for and that are not here. */
  get missingKeys(): readonly string[] {
    return [...this.#missing];
  }

  static isSealed(value: Uint8Array): boolean {
    if (value[0] !== FIRST) return false;
    return (
      Buffer.from(value.buffer, value.byteOffset, Math.min(value.length, MAGIC.length)).toString('latin1') === MAGIC
    );
  }

  /** The id of the key that a value says it is sealed with. */
  static keyIdOf(value: Uint8Array): string | undefined {
    return Sealer.isSealed(value) ? headerOf(bufferOf(value)).id : undefined;
  }

  /** `place` is where the value will stand, `uid` whose it is. */
  seal(plain: Uint8Array, place: string, uid: string): Uint8Array {
    const header = Buffer.from(`${MAGIC} ${this.#current.id} ${encodeURIComponent(uid)}\n`);
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#current.bytes, nonce);
    cipher.setAAD(about(header, place));
    const body = Buffer.concat([cipher.update(plain), cipher.final()]);
    return Buffer.concat([header, nonce, body, cipher.getAuthTag()]);
  }

  /** What `sealed` says it is of. */
  static uidOf(sealed: Uint8Array): string {
    return decodeURIComponent(headerOf(bufferOf(sealed)).uid ?? '');
  }

  /** The value that was sealed for this place. Throws `UnsealError`. */
  open(value: Uint8Array, place: string): Uint8Array {
    const bytes = bufferOf(value);
    const { end, id, uid } = headerOf(bytes);
    if (id === undefined || bytes.length < end + 1 + NONCE_BYTES + TAG_BYTES) throw new UnsealError('it is damaged');
    if (!this.#keys.has(id) && !this.#missing.has(id)) this.#reread();
    const key = this.#keys.get(id);
    if (key === undefined) {
      this.#missing.add(id);
      throw new UnsealError(`it is sealed with key ${id}, which this server has not`, uid);
    }
    const nonce = bytes.subarray(end + 1, end + 1 + NONCE_BYTES);
    try {
      const decipher = createDecipheriv(ALGORITHM, key.bytes, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(about(bytes.subarray(0, end + 1), place));
      decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
      const body = bytes.subarray(end + 1 + NONCE_BYTES, bytes.length - TAG_BYTES);
      return Buffer.concat([decipher.update(body), decipher.final()]);
    } catch (error) {
      throw new UnsealError('it is damaged, or was put in another place', uid, { cause: error });
    }
  }
}

const about = (header: Uint8Array, place: string) => Buffer.concat([header, Buffer.from(place)]);

const bufferOf = (value: Uint8Array) => Buffer.from(value.buffer, value.byteOffset, value.length);

function headerOf(bytes: Buffer) {
  const end = bytes.subarray(0, MAX_HEADER).indexOf(LINE_END);
  const [, id, uid] = HEADER.exec(bytes.subarray(0, Math.max(end, 0)).toString('latin1')) ?? [];
  return { end, id, uid };
}

function ringOf(keys: readonly string[]): readonly [Key, ReadonlyMap<string, Key>] {
  const all = keys.map(keyOf);
  const [current] = all;
  if (current === undefined) throw new Error('there is no key to seal with');
  return [current, new Map(all.map((key) => [key.id, key]))];
}

function keyOf(hex: string): Key {
  if (!/^[0-9a-f]*$/.test(hex) || hex.length !== 2 * KEY_BYTES)
    throw new Error(`a key to seal with is ${KEY_BYTES} bytes in hex`);
  const bytes = Buffer.from(hex, 'hex');
  return { id: sealingKeyId(bytes), bytes };
}
