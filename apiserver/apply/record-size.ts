import { ApiError } from '../../resources/meta/api-error.ts';
import { encodeJson } from '../../resources/meta/json.ts';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import { STORE_LIMITS } from '../store/store.ts';
import { identified } from './list-items.ts';
import { fieldType, formOf, type MergeType } from './merge-type.ts';

/** The record of what is below this many bytes fits beside it, whatever it says. */
const SURELY_SMALL = 100_000;
/** Colon, braces and comma of an entry. */
const BYTES_AN_ENTRY = 4;
/** What an item of a list says besides: that it is there. */
const BYTES_AN_ITEM = 7;

/**
 * Refuses with 413 a configuration that the store would refuse in the end, before anything is made of it: what it says and the record of
 * who owns it are both kept, and a record of many small items is far larger than they are.
 */
export function checkRecordSize(config: JsonObject, type: MergeType): void {
  const bytes = encodeJson(config).length;
  if (bytes < SURELY_SMALL) return;
  const record = sizeOf(config, type);
  if (bytes + record <= STORE_LIMITS.valueBytes) return;
  const message = `the configuration of ${bytes} bytes would have a record of owned fields of ${record} bytes; both are kept in the object, whose limit is ${STORE_LIMITS.valueBytes}`;
  throw new ApiError('RequestEntityTooLarge', message);
}

/** At least so many bytes are the entries of a value in FieldsV1. */
function sizeOf(value: unknown, type: MergeType): number {
  if (typeof value !== 'object' || value === null) return 0;
  const at = formOf(type, value);
  if (at.form === 'map') return isObject(value) && !at.type.atomic ? ofFields(value, at.type) : 0;
  if (at.form !== 'list' || !Array.isArray(value) || at.type.relation === 'atomic') return 0;
  const { element: inner } = at.type;
  return identified(at.type, value).reduce(
    (sum, [element, item]) => sum + encodeJson(element).length + BYTES_AN_ENTRY + itemSize(item, inner),
    0,
  );
}

function itemSize(item: unknown, type: MergeType): number {
  const below = sizeOf(item, type);
  return below === 0 ? 0 : below + BYTES_AN_ITEM;
}

function ofFields(value: JsonObject, map: Parameters<typeof fieldType>[0]): number {
  let sum = 0;
  for (const name of Object.keys(value)) {
    const field = value[name];
    const type = fieldType(map, name);
    if (type !== undefined) sum += name.length + '"f:"'.length + BYTES_AN_ENTRY + sizeOf(field, type);
  }
  return sum;
}
