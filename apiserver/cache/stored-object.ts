import { encodeJson, parseOwnJson } from '../../resources/meta/json.ts';
import { isObject, type KubeObject } from '../../resources/meta/object.ts';
import { LEFT_OUT, rewriteFields } from '../../resources/meta/rewrite-fields.ts';
import { isDamaged } from '../sealing/damage.ts';
import { sealedWith } from '../sealing/sealed-with.ts';

/** An object as the cache keeps it: encoded once with its resourceVersion inside, and parsed when somebody looks at it. Never changed. */
export interface StoredObject {
  readonly key: string;
  readonly object: KubeObject;
  readonly bytes: Uint8Array;
  /** The revision it was last written at. */
  readonly revision: number;
  /** Lets go of `object`, which takes several times the room of `bytes`, until somebody looks at it again. */
  forget?(): void;
}

/** Reads JSON without losing anything of it. */
type Parse = (text: string) => unknown;

/**
 * What the cache keeps of a write. Its version is spliced in when its bytes are first asked for: of most that are read at a start nobody asks. It is read
 * when it is first looked at: of 10,000 that are listed as they are kept, nobody looks at any.
 */
class Kept implements StoredObject {
  readonly key: string;
  readonly revision: number;
  readonly #parse: Parse;
  #value: Uint8Array;
  #spliced: boolean;
  #object: KubeObject | undefined;

  constructor({ key, revision, value, spliced = false, object, parse }: KeptParts) {
    this.key = key;
    this.revision = revision;
    this.#value = value;
    this.#spliced = spliced;
    this.#object = object;
    this.#parse = parse;
  }

  get bytes(): Uint8Array {
    if (!this.#spliced) {
      this.#value = withVersion(this.#value, this.revision);
      this.#spliced = true;
    }
    return this.#value;
  }

  get object(): KubeObject {
    this.#object ??= this.#read();
    return this.#object;
  }

  forget(): void {
    // What was found out about these when they were opened stands nowhere else.
    if (this.#object !== undefined && !isDamaged(this.#object) && sealedWith(this.#object) === undefined)
      this.#object = undefined;
  }

  #read(): KubeObject {
    try {
      return this.#parse(decoder.decode(this.bytes)) as KubeObject;
    } catch (cause) {
      throw new TypeError(`what is stored at ${this.key} cannot be read`, { cause });
    }
  }
}

interface KeptParts {
  readonly key: string;
  readonly revision: number;
  readonly value: Uint8Array;
  /** Whether the version stands in the value. */
  readonly spliced?: boolean;
  /** What reading it answers, where that is at hand. */
  readonly object?: KubeObject;
  readonly parse: Parse;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const OPEN = 0x7b;
const CLOSE = 0x7d;
const METADATA = encoder.encode('"metadata":{');

/** The bytes the store keeps: JSON with apiVersion, kind and metadata first, and no resourceVersion (the store's revision is it). */
export function encodeStored(object: KubeObject): Uint8Array {
  const { apiVersion, kind, metadata, ...rest } = object;
  const { resourceVersion: _, ...kept } = metadata;
  // Not of the pool of `Buffer.from`, of which each value that is kept for long would keep 64 KiB.
  return encoder.encode(encodeJson({ apiVersion, kind, metadata: kept, ...rest }));
}

/** What stored bytes are read back to, once somebody looks at the object. Throws for bytes that are none of `encodeStored`. */
export function decodeStored(key: string, value: Uint8Array, revision: number, parse: Parse): StoredObject {
  if (value[0] !== OPEN || value.at(-1) !== CLOSE) throw new TypeError(`what is stored at ${key} is no object`);
  return new Kept({ key, revision, value, parse });
}

/** What `decodeStored` makes of an object's encoding, when the object is at hand. */
export function readBack(key: string, written: KubeObject, value: Uint8Array, revision: number): StoredObject {
  const object = withoutUndefined(written);
  const metadata = { ...object.metadata, resourceVersion: String(revision) };
  return new Kept({ key, revision, value, object: { ...object, metadata }, parse: parseOwnJson });
}

/** A value as it reads back from JSON: without the fields that are undefined. Parts that have none are shared with it. */
function withoutUndefined<T>(value: T): T {
  if (Array.isArray(value)) {
    const items = value.map(withoutUndefined);
    return items.every((item, i) => item === value[i]) ? value : (items as T);
  }
  if (!isObject(value)) return value;
  return rewriteFields(value, (_, field) => {
    if (field === undefined) return LEFT_OUT;
    return typeof field === 'object' ? withoutUndefined(field) : field;
  }) as T;
}

/** The same JSON with `resourceVersion` spliced in as the first field of metadata: no second encoding. */
function withVersion(value: Uint8Array, revision: number): Uint8Array {
  const at = indexOf(value, METADATA) + METADATA.length;
  const field = `"resourceVersion":"${revision}"${value[at] === CLOSE ? '' : ','}`;
  // Not of the pool, of which what is kept for long would keep more than itself.
  const out = Buffer.allocUnsafeSlow(value.length + field.length);
  out.set(value.subarray(0, at));
  out.write(field, at, 'latin1');
  out.set(value.subarray(at), at + field.length);
  return new Uint8Array(out.buffer);
}

function indexOf(haystack: Uint8Array, needle: Uint8Array): number {
  return Buffer.from(haystack.buffer, haystack.byteOffset, haystack.length).indexOf(needle);
}

/** A removed object as its last event tells it: as it was, at the revision of the removal. */
export function removedAt(last: StoredObject, revision: number): StoredObject {
  const object = { ...last.object, metadata: { ...last.object.metadata, resourceVersion: String(revision) } };
  const value = encoder.encode(encodeJson(object));
  return new Kept({ key: last.key, revision, value, spliced: true, object, parse: parseOwnJson });
}
