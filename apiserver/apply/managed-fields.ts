import { isObject, type JsonObject, type ManagedFieldsEntry } from '../../resources/meta/object.ts';
import { decodeFields, decodeStoredFields, encodeFields, type FieldSet, isEmpty, sameSet, union } from './field-set.ts';
import { LatestManagers } from './latest-managers.ts';

/** Who owns fields: how an entry of managedFields is told from the others. */
export interface ManagerId {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly subresource?: string;
}

/** A manager with what it owns. */
export interface Manager extends ManagerId {
  readonly set: FieldSet;
  /** RFC 3339, when it last changed something by this operation; undefined when it never did. */
  readonly time: string | undefined;
}

/** Managers by `managerKey`. */
export type Managers = ReadonlyMap<string, Manager>;

/** Update entries an object may have; beyond it the oldest become one. */
const MAX_UPDATE_MANAGERS = 10;
const OLDEST = 'ancient-changes';

/** An applier is the same whatever version it applies; an updater is one per version. In the order of this text conflicts are told. */
export function managerKey({ manager, operation, apiVersion, subresource }: ManagerId): string {
  const version = operation === 'Update' ? { apiVersion } : {};
  return JSON.stringify({ manager, operation, ...version, ...(subresource === undefined ? {} : { subresource }) });
}

/** Whether a client says that the record is to begin anew: an empty list, or one empty entry. */
export function isReset(entries: unknown): boolean {
  if (!Array.isArray(entries)) return false;
  return entries.length === 0 || (entries.length === 1 && isObject(entries[0]) && isBlank(entries[0]));
}

const isBlank = (entry: JsonObject) => Object.values(entry).every((value) => value === undefined || value === '');

/** The managers that a client's entries tell of. Undefined when one of the entries is none. */
export function readManagers(entries: unknown): Managers | undefined {
  if (entries === undefined) return new Map();
  if (!Array.isArray(entries)) return undefined;
  const managers = new Map<string, Manager>();
  for (const entry of entries) {
    const manager = readManager(entry, decodeFields);
    if (manager === undefined) return undefined;
    managers.set(managerKey(manager), manager);
  }
  return managers;
}

const decoded = new LatestManagers();
/** The entry a manager was read from or written as: one that does not change is not encoded again. */
const entryOf = new WeakMap<Manager, ManagedFieldsEntry>();

/** The managers of a record of ours. */
export function storedManagers(entries: readonly ManagedFieldsEntry[] | undefined): Managers {
  if (entries === undefined) return NOBODY;
  const kept = decoded.get(entries);
  if (kept !== undefined) return kept;
  const managers = new Map<string, Manager>();
  for (const entry of entries) {
    const manager = readManager(entry, decodeStoredFields);
    if (manager === undefined) continue;
    entryOf.set(manager, entry);
    encoded.set(manager.set, entry.fieldsV1);
    managers.set(managerKey(manager), manager);
  }
  decoded.add(entries, managers);
  return managers;
}

const NOBODY: Managers = new Map();

function readManager(entry: unknown, decode: (fields: unknown) => FieldSet | undefined): Manager | undefined {
  if (!isObject(entry)) return undefined;
  const { operation, apiVersion, fieldsType, fieldsV1 = {}, manager = '', subresource, time } = entry;
  if (operation !== 'Apply' && operation !== 'Update') return undefined;
  if (typeof apiVersion !== 'string' || apiVersion === '' || fieldsType !== 'FieldsV1') return undefined;
  const set = decode(fieldsV1);
  if (set === undefined || typeof manager !== 'string') return undefined;
  return {
    manager,
    operation,
    apiVersion,
    ...(typeof subresource === 'string' && subresource !== '' ? { subresource } : {}),
    set,
    time: typeof time === 'string' && !Number.isNaN(Date.parse(time)) ? time : undefined,
  };
}

/** The entries of managers: Apply before Update, the oldest first. Undefined for none. */
export function writeManagers(managers: Managers): readonly ManagedFieldsEntry[] | undefined {
  const owning = [...managers].filter(([, { set }]) => !isEmpty(set)).sort(([, a], [, b]) => inOrder(a, b));
  if (owning.length === 0) return undefined;
  const entries = owning.map(([, manager]) => entryOf.get(manager) ?? writeManager(manager));
  // The next write of the object need not read what this one wrote.
  decoded.add(entries, new Map(owning));
  return entries;
}

function writeManager(written: Manager): ManagedFieldsEntry {
  const { manager, operation, apiVersion, time, set, subresource } = written;
  const entry = {
    manager,
    operation,
    apiVersion,
    ...(time === undefined ? {} : { time }),
    fieldsType: 'FieldsV1',
    fieldsV1: encodedOnce(set),
    ...(subresource === undefined ? {} : { subresource }),
  };
  entryOf.set(written, entry);
  return entry;
}

const encoded = new WeakMap<FieldSet, JsonObject>();

/** The fields of a set. Most writes change none: they set again what their manager owns already. */
function encodedOnce(set: FieldSet): JsonObject {
  const kept = encoded.get(set) ?? encodeFields(set);
  encoded.set(set, kept);
  return kept;
}

const seconds = ({ time }: Manager): number => (time === undefined ? 0 : Math.floor(Date.parse(time) / 1000));

function inOrder(a: Manager, b: Manager): number {
  return (
    byText(a.operation, b.operation) ||
    seconds(a) - seconds(b) ||
    byText(a.manager, b.manager) ||
    byText(a.apiVersion, b.apiVersion) ||
    byText(a.subresource ?? '', b.subresource ?? '')
  );
}

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Whether two records say the same but for times. */
export function sameOwners(
  a: readonly ManagedFieldsEntry[] | undefined,
  b: readonly ManagedFieldsEntry[] | undefined,
): boolean {
  if (a === b) return true;
  const [left, right] = [storedManagers(a), storedManagers(b)];
  if (left.size !== right.size) return false;
  for (const [key, manager] of left) {
    const other = right.get(key);
    if (other === undefined || manager.apiVersion !== other.apiVersion) return false;
    if (!sameSet(manager.set, other.set)) return false;
  }
  return true;
}

/** With the oldest updaters made one for each version, when there are more of them than an object may have. */
export function capped(managers: Managers): Managers {
  const updaters = [...managers].filter(([, { operation }]) => operation === 'Update');
  let excess = updaters.length - MAX_UPDATE_MANAGERS;
  if (excess <= 0) return managers;
  updaters.sort(([a, x], [b, y]) => seconds(x) - seconds(y) || byText(a, b));
  const left = new Map(managers);
  const first = new Map<string, string>();
  for (const [key, updater] of updaters) {
    if (excess <= 0) break;
    const { apiVersion, set, time } = updater;
    const earlier = first.get(apiVersion);
    if (earlier === undefined) {
      first.set(apiVersion, key);
      continue;
    }
    const bucket: ManagerId = { manager: OLDEST, operation: 'Update', apiVersion };
    const bucketKey = managerKey(bucket);
    const filled = left.get(bucketKey) ?? left.get(earlier);
    if (!left.has(bucketKey)) left.delete(earlier);
    left.delete(key);
    left.set(bucketKey, { ...bucket, set: filled === undefined ? set : union(filled.set, set), time });
    excess--;
  }
  return left;
}
