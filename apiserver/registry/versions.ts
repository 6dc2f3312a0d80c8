import type { Kind } from '../../resources/meta/define-kind.ts';
import { encodeJson } from '../../resources/meta/json.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import { apiVersionOf } from '../../resources/meta/resource-id.ts';
import type { Schema } from '../../resources/meta/schema.ts';
import { applyDefaults, pruneUnknown, TooManyDefaults } from '../admission/structural.ts';
import type { StoredObject } from '../cache/stored-object.ts';

/*
 * The conversion called `None` between the versions of a user's kind: apiVersion is rewritten, and the schema of the version an object comes
 * to drops what it does not know and fills in its defaults. The same happens to objects stored before a schema changed.
 */

const known = new WeakMap<Kind, WeakMap<KubeObject, KubeObject>>();
const encoded = new WeakMap<KubeObject, StoredObject>();
const encoder = new TextEncoder();

/** An object of the store as a version of its kind shows it; itself when that is the same. */
export function fromStorage(kind: Kind, object: KubeObject): KubeObject {
  if (kind.origin !== 'user' && kind.view === undefined) return object;
  let made = known.get(kind);
  if (made === undefined) {
    made = new WeakMap();
    known.set(kind, made);
  }
  const before = made.get(object);
  if (before !== undefined) return before;
  const shown = kind.view === undefined ? shapedBy(kind.schema, kind, object, true) : kind.view.show(object);
  made.set(object, shown);
  return shown;
}

/** The same of an object with its encoding. */
export function viewOf(kind: Kind, stored: StoredObject): StoredObject {
  const object = fromStorage(kind, stored.object);
  if (object === stored.object) return stored;
  const before = encoded.get(object);
  if (before !== undefined) return before;
  const made = { ...stored, object, bytes: encoder.encode(encodeJson(object)) };
  encoded.set(object, made);
  return made;
}

/** An object as it is kept: in the storage version of its kind. */
export function toStorage(kind: Kind, object: KubeObject): KubeObject {
  const { storage, view } = kind;
  if (view !== undefined) return view.keep(object);
  return storage === undefined
    ? object
    : shapedBy(storage.schema, { ...kind, version: storage.version }, object, false);
}

function shapedBy(
  schema: Schema,
  version: { readonly group: string; readonly version: string },
  object: KubeObject,
  defaults: boolean,
): KubeObject {
  const apiVersion = apiVersionOf(version);
  const { object: pruned } = pruneUnknown(object, schema);
  const filled = defaults ? withDefaults(pruned, schema) : pruned;
  return filled.apiVersion === apiVersion ? filled : { ...filled, apiVersion };
}

/** What is stored already must be readable, whatever defaults its schema has got: without them where they are without end. */
function withDefaults(object: KubeObject, schema: Schema): KubeObject {
  try {
    return applyDefaults(object, schema);
  } catch (error) {
    if (error instanceof TooManyDefaults) return object;
    throw error;
  }
}
