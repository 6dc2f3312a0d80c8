import { parseOwnJson } from '../../resources/meta/json.ts';
import { type KubeObject, splitKey } from '../../resources/meta/object.ts';
import { resourceId } from '../../resources/meta/resource-id.ts';
import { markDamaged } from '../sealing/damage.ts';
import { markSealedWith, sealedWith } from '../sealing/sealed-with.ts';
import { Sealer } from '../sealing/sealer.ts';
import { UnsealError } from '../sealing/unseal-error.ts';
import { parseStoreKey } from './keys.ts';
import { decodeStored, encodeStored, readBack, type StoredObject } from './stored-object.ts';

interface Sealing {
  readonly sealer: Sealer;
  /** Resources whose objects are sealed. */
  readonly resources: ReadonlySet<string>;
}

/** Between objects and what the store keeps of them: JSON, sealed for kinds that say so. Everything that is written or read goes through it. */
export class ObjectCodec {
  readonly #sealing: Sealing | undefined;
  /** What was encoded here, by its value: the store tells of a write with the very bytes it was given, and nothing of it is read a second time. */
  readonly #written = new WeakMap<Uint8Array, Written>();
  /** The latest of those by their keys, for stores that tell of a write with a copy: as many as are in flight, and some. */
  readonly #latest = new Map<string, Uint8Array>();

  /** Without `sealing` nothing is sealed, and nothing sealed can be read. */
  constructor(sealing?: Sealing) {
    this.#sealing = sealing;
  }

  encode(resource: { readonly group: string; readonly plural: string }, key: string, object: KubeObject): Uint8Array {
    const plain = encodeStored(object);
    const value = this.seal(resource, key, plain, object.metadata.uid);
    this.#written.set(value, new Written(key, object, plain));
    this.#keep(key, value);
    return value;
  }

  /** What is kept besides an object and tells of it, sealed where its kind is. */
  seal(
    resource: { readonly group: string; readonly plural: string },
    key: string,
    plain: Uint8Array,
    uid = '',
  ): Uint8Array {
    if (this.#sealing?.resources.has(resourceId(resource)) !== true) return plain;
    return this.#sealing.sealer.seal(plain, key, uid);
  }

  /** Whether an object stands in the store sealed with another key than new ones are. */
  isBehind(object: KubeObject): boolean {
    const keyId = this.#sealing === undefined ? undefined : sealedWith(object);
    return keyId !== undefined && keyId !== this.#sealing?.sealer.currentId;
  }

  /** What `seal` made. Throws `UnsealError`. */
  open(key: string, value: Uint8Array): Uint8Array {
    if (!Sealer.isSealed(value)) return value;
    if (this.#sealing === undefined) throw new UnsealError('it is sealed, and this server has no keys');
    return this.#sealing.sealer.open(value, key);
  }

  /** A sealed value, or `plain` in its place, sealed with the newest key; what is not sealed stays as it is. Throws `UnsealError`. */
  reseal(key: string, value: Uint8Array, plain = this.open(key, value)): Uint8Array {
    if (this.#sealing === undefined || !Sealer.isSealed(value)) return plain;
    return this.#sealing.sealer.seal(plain, key, Sealer.uidOf(value));
  }

  /** The object at a store key. What cannot be unsealed becomes an object with a name and nothing else, marked as damaged. */
  decode(key: string, value: Uint8Array, revision: number): StoredObject {
    const place = parseStoreKey(key);
    const objectKey = place?.objectKey ?? key;
    const written = this.#written.get(value) ?? this.#copied(key, value);
    const marked = (stored: StoredObject) => {
      const keyId = Sealer.keyIdOf(value);
      if (keyId !== undefined) markSealedWith(stored.object, keyId);
      return stored;
    };
    // What is sealed is sealed for its place, whoever may know what is in it.
    if (written?.key === key) return marked(written.at(objectKey, revision));
    const read = (plain: Uint8Array) => decodeStored(objectKey, plain, revision, parseOwnJson);
    const mustBeSealed = place !== undefined && this.#sealing?.resources.has(place.resourceId) === true;
    if (!Sealer.isSealed(value) && !mustBeSealed) return read(value);
    try {
      if (!Sealer.isSealed(value)) throw new UnsealError('it is not sealed');
      return marked(read(this.open(key, value)));
    } catch (error) {
      if (!(error instanceof UnsealError)) throw error;
      const stored = read(encodeStored(standIn(objectKey, error)));
      markDamaged(stored.object, error.message);
      return marked(stored);
    }
  }

  #keep(key: string, value: Uint8Array): void {
    this.#latest.delete(key);
    if (value.length > MOST_LATEST_BYTES) return;
    this.#latest.set(key, value);
    const [oldest] = this.#latest.keys();
    if (this.#latest.size > MOST_LATEST && oldest !== undefined) this.#latest.delete(oldest);
  }

  #copied(key: string, value: Uint8Array): Written | undefined {
    const latest = this.#latest.get(key);
    return latest !== undefined && Buffer.compare(latest, value) === 0 ? this.#written.get(latest) : undefined;
  }
}

const MOST_LATEST = 256;
/** Of one of them: large ones are read again. */
const MOST_LATEST_BYTES = 64 << 10;

/** An object that was encoded, and what it reads as at its revision: the same one for everybody who asks. Then only that knows the object still. */
class Written {
  readonly key: string;
  readonly #plain: Uint8Array;
  #object: KubeObject | undefined;
  #stored: StoredObject | undefined;

  constructor(key: string, object: KubeObject, plain: Uint8Array) {
    this.key = key;
    this.#object = object;
    this.#plain = plain;
  }

  at(objectKey: string, revision: number): StoredObject {
    if (this.#stored?.revision !== revision) this.#stored = this.#read(objectKey, revision);
    return this.#stored;
  }

  #read(objectKey: string, revision: number): StoredObject {
    const object = this.#object;
    this.#object = undefined;
    return object === undefined
      ? decodeStored(objectKey, this.#plain, revision, parseOwnJson)
      : readBack(objectKey, object, this.#plain, revision);
  }
}

/** Says on an object in a list that it could not be read, and why. */
export const UNREADABLE_ANNOTATION = 'coppice.dev/unreadable';

function standIn(objectKey: string, { uid = '', message }: UnsealError): KubeObject {
  const metadata = {
    ...splitKey(objectKey),
    uid,
    resourceVersion: '',
    creationTimestamp: '1970-01-01T00:00:00Z',
    annotations: { [UNREADABLE_ANNOTATION]: message },
  };
  return { apiVersion: '', kind: '', metadata };
}
