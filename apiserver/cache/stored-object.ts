import { encodeJson } from '../../resources/meta/json.ts';
import { isObject, type KubeObject } from '../../resources/meta/object.ts';
import { LEFT_OUT, rewriteFields } from '../../resources/meta/rewrite-fields.ts';

/** An object as the cache keeps it: parsed once, and encoded once with its resourceVersion inside. Never changed. */
export interface StoredObject {
  readonly key: string;
  readonly object: KubeObject;
  readonly bytes: Uint8Array;
  /** The revision it was last written at. */
  readonly revision: number;
}

/** A stored object whose encoding is spliced when it is first asked for: of most that are read at a start nobody asks. */
class SplicedObject implements StoredObject {
  readonly key: string;
  readonly object: KubeObject;
  readonly revision: number;
  #value: Uint8Array;
  #spliced = false;

  constructor(key: string, object: KubeObject, value: Uint8Array, revision: number) {
    this.key = key;
    this.object = object;
    this.#value = value;
    this.revision = revision;
  }

  get bytes(): Uint8Array {
    if (!this.#spliced) {
      this.#value = withVersion(this.#value, this.revision);
      this.#spliced = true;
    }
    return this.#value;
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const METADATA = encoder.encode('"metadata":{');

/** The bytes the store keeps: JSON with apiVersion, kind and metadata first, and no resourceVersion (the store's revision is it). */
export function encodeStored(object: KubeObject): Uint8Array {
  const { apiVersion, kind, metadata, ...rest } = object;
  const { resourceVersion: _, ...kept } = metadata;
  const bytes = Buffer.from(encodeJson({ apiVersion, kind, metadata: kept, ...rest }));
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** Reads stored bytes back. `parse` is the lossless JSON parser. */
export function decodeStored(
  key: string,
  value: Uint8Array,
  revision: number,
  parse: (text: string) => unknown,
): StoredObject {
  const object = parse(decoder.decode(value)) as KubeObject;
  object.metadata.resourceVersion = String(revision);
  return new SplicedObject(key, object, value, revision);
}

/** What `decodeStored` makes of an object's encoding, when the object is at hand. */
export function readBack(key: string, written: KubeObject, value: Uint8Array, revision: number): StoredObject {
  const object = withoutUndefined(written);
  const metadata = { ...object.metadata, resourceVersion: String(revision) };
  return new SplicedObject(key, { ...object, metadata }, value, revision);
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
  const field = `"resourceVersion":"${revision}"${value[at] === 0x7d ? '' : ','}`;
  // Not of the pool, of which what is kept for long would keep more than itself.
  const out = Buffer.allocUnsafeSlow(value.length + field.length);
  out.set(at === value.length ? value : value.subarray(0, at));
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
  return { key: last.key, object, bytes: encoder.encode(encodeJson(object)), revision };
}
