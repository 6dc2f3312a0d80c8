import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { MAX_JSON_DEPTH, parseJsonBytes } from '../../resources/meta/json.ts';
import { setOwn } from '../../resources/meta/json-reader.ts';
import type { JsonObject } from '../../resources/meta/object.ts';
import { isScalar, type MessageField, type Scalar } from './message-table.ts';
import { fieldsOf, type MessageName, SHAPES } from './messages.ts';

/** A message deeper than this is refused; its JSON is about twice as deep. */
const MAX_DEPTH = MAX_JSON_DEPTH / 2;

const WIRE_TYPES: Readonly<Record<Scalar, WireType>> = {
  string: WireType.LengthDelimited,
  bytes: WireType.LengthDelimited,
  json: WireType.LengthDelimited,
  raw: WireType.LengthDelimited,
  bool: WireType.Varint,
  int32: WireType.Varint,
  int64: WireType.Varint,
  double: WireType.Bit64,
};

const ZEROS: Readonly<Record<Scalar, unknown>> = {
  string: '',
  bytes: '',
  json: null,
  raw: undefined,
  bool: false,
  int32: 0,
  int64: 0,
  double: 0,
};

/**
 * The JSON that a Go client would have written of the message in these bytes. Fields that the message does not have are skipped. Throws an
 * Error on what is no such message: broken, of other wire types, too deep, or with text that is not UTF-8.
 */
export function decodeMessage(message: MessageName, bytes: Uint8Array): JsonObject {
  const object: JsonObject = {};
  readInto(object, message, bytes, 0);
  return object;
}

function readInto(object: JsonObject, message: string, bytes: Uint8Array, depth: number): void {
  if (depth > MAX_DEPTH) throw new Error('exceeded max depth');
  const fields = fieldsOf(message);
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    const field = fields.get(number);
    if (field === undefined) reader.skip(wireType, number);
    else readField(object, field, reader, wireType, depth);
  }
  for (const field of fields.values()) fillIn(object, field, depth);
}

/** What Go shows in JSON though nobody set it. */
function fillIn(object: JsonObject, { name, type, many, zero }: MessageField, depth: number): void {
  if (many !== 'one' || zero === 'set' || Object.hasOwn(object, name)) return;
  if (isScalar(type)) {
    if (zero === 'kept') object[name] = ZEROS[type];
  } else if (SHAPES[type] === undefined) {
    const inner: JsonObject = {};
    readInto(inner, type, new Uint8Array(), depth + 1);
    object[name] = inner;
  } else if (zero === 'kept') {
    object[name] = null;
  }
}

function readField(
  object: JsonObject,
  field: MessageField,
  reader: BinaryReader,
  wireType: WireType,
  depth: number,
): void {
  const { name, type, many, zero } = field;
  if (many === 'map') {
    readEntry(object, field, lengthDelimited(reader, wireType, name), depth);
    return;
  }
  if (many === 'list') {
    const list = object[name];
    const value = readValue(type, undefined, reader, wireType, depth);
    if (Array.isArray(list)) list.push(value);
    else object[name] = [value];
    return;
  }
  const value = readValue(type, object[name], reader, wireType, depth);
  // The last one given counts, also when it takes back what an earlier one set. What is kept comes back when the message is read.
  if (value === undefined || (zero === 'omitted' && isScalar(type) && value === ZEROS[type])) delete object[name];
  else object[name] = value;
}

/** One entry of a map: a message of a key and a value. */
function readEntry(object: JsonObject, { name, type }: MessageField, bytes: Uint8Array, depth: number): void {
  const reader = new BinaryReader(bytes);
  let key = '';
  let value: unknown;
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    if (number === 1) key = String(readScalar('string', reader, wireType));
    else if (number === 2) value = readValue(type, value, reader, wireType, depth);
    else reader.skip(wireType, number);
  }
  const map = (object[name] ?? {}) as JsonObject;
  object[name] = map;
  setOwn(map, key, value ?? emptyOf(type, depth));
}

function emptyOf(type: string, depth: number): unknown {
  return isScalar(type) ? ZEROS[type] : shaped(type, undefined, new Uint8Array(), depth);
}

function readValue(type: string, before: unknown, reader: BinaryReader, wireType: WireType, depth: number): unknown {
  if (isScalar(type)) return readScalar(type, reader, wireType);
  return shaped(type, before, lengthDelimited(reader, wireType, type), depth);
}

/** A message as it stands in JSON. Given twice, the second adds to the first. */
function shaped(type: string, before: unknown, bytes: Uint8Array, depth: number): unknown {
  const shape = SHAPES[type];
  const object = (shape === undefined && before !== undefined ? before : {}) as JsonObject;
  readInto(object, type, bytes, depth + 1);
  return shape === undefined ? object : shape(object);
}

function readScalar(type: Scalar, reader: BinaryReader, wireType: WireType): unknown {
  if (wireType !== WIRE_TYPES[type]) throw new Error(`wrong wire type ${wireType} for a ${type}`);
  switch (type) {
    case 'string':
      return reader.string(true);
    case 'bytes':
      return Buffer.from(reader.bytes()).toString('base64');
    case 'json':
      return jsonOf(reader.bytes());
    case 'raw':
      return reader.bytes();
    case 'bool':
      return reader.bool();
    case 'int32':
      return reader.int32();
    case 'int64':
      return plainInteger(reader.int64());
    case 'double':
      return finite(reader.double());
    default:
      throw new Error(`unhandled scalar ${type satisfies never}`);
  }
}

const jsonOf = (bytes: Uint8Array): unknown => (bytes.length === 0 ? null : parseJsonBytes(bytes).value);

/** A number where one holds it, as the JSON reader has it. */
function plainInteger(value: bigint | string): number | bigint {
  const exact = BigInt(value);
  return Number.isSafeInteger(Number(exact)) ? Number(exact) : exact;
}

function finite(value: number): number {
  if (!Number.isFinite(value)) throw new Error(`${value} is no JSON number`);
  return value;
}

function lengthDelimited(reader: BinaryReader, wireType: WireType, what: string): Uint8Array {
  if (wireType !== WireType.LengthDelimited) throw new Error(`wrong wire type ${wireType} for ${what}`);
  return reader.bytes();
}
