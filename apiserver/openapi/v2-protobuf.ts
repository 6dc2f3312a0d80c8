import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { encodeJson } from '../../resources/meta/json.ts';
import type { V2Operation, V2Parameter, V2Part, V2PathItem, V2Schema } from './v2-document.ts';

// Numbers are those of gnostic's openapi.v2.Document (google/gnostic-models, openapiv2/OpenAPIv2.proto).

type Write = (writer: BinaryWriter) => void;

/** A message with an entry for each path, and one for each definition: fields of Paths and of Definitions. */
export interface V2Bytes {
  readonly paths: Uint8Array;
  readonly definitions: Uint8Array;
}

/** Encodes paths and definitions, so that a document can be put together from what was encoded before. */
export function encodeV2Part({ paths, definitions }: V2Part): V2Bytes {
  return {
    paths: bytesOf((w) => named(w, 2, paths, pathItem)),
    definitions: bytesOf((w) => named(w, 1, definitions, schema)),
  };
}

/** The whole document of some parts. */
export function encodeV2Document(title: string, version: string, parts: readonly V2Bytes[]): Uint8Array {
  return bytesOf((w) => {
    text(w, 1, '2.0');
    nested(w, 2, (info) => {
      text(info, 1, title);
      text(info, 2, version);
    });
    nested(w, 8, (all) => {
      for (const { paths } of parts) all.raw(paths);
    });
    nested(w, 9, (all) => {
      for (const { definitions } of parts) all.raw(definitions);
    });
  });
}

function pathItem(w: BinaryWriter, item: V2PathItem): void {
  for (const [method, number] of Object.entries({ get: 2, put: 3, post: 4, delete: 5, patch: 8 } as const)) {
    const found = item[method as keyof V2PathItem & ('get' | 'put' | 'post' | 'delete' | 'patch')];
    if (found !== undefined) nested(w, number, (at) => operation(at, found));
  }
  for (const one of item.parameters ?? []) parameter(w, 9, one);
}

function operation(w: BinaryWriter, of: V2Operation): void {
  texts(w, 1, of.tags);
  text(w, 3, of.description);
  text(w, 5, of.operationId);
  texts(w, 6, of.produces);
  texts(w, 7, of.consumes);
  for (const one of of.parameters ?? []) parameter(w, 8, one);
  nested(w, 9, (responses) =>
    named(responses, 1, of.responses, (value, response) =>
      nested(value, 1, (at) => {
        text(at, 1, response.description);
        const { schema: body } = response;
        if (body !== undefined) nested(at, 2, (item) => nested(item, 1, (s) => schema(s, body)));
      }),
    ),
  );
  texts(w, 10, of.schemes);
  extensions(w, 13, of);
}

function parameter(w: BinaryWriter, number: number, of: V2Parameter): void {
  nested(w, number, (item) =>
    nested(item, 1, (one) => {
      if (of.in === 'body') {
        nested(one, 1, (body) => {
          text(body, 2, of.name);
          text(body, 3, of.in);
          flag(body, 4, of.required);
          nested(body, 5, (s) => schema(s, of.schema));
        });
        return;
      }
      // Query and path parameters are messages of their own that differ in their numbers.
      const at = of.in === 'query' ? { wrap: 3, type: 6, unique: 20 } : { wrap: 4, type: 5, unique: 19 };
      nested(one, 2, (plain) =>
        nested(plain, at.wrap, (sub) => {
          flag(sub, 1, of.required);
          text(sub, 2, of.in);
          text(sub, 3, of.description);
          text(sub, 4, of.name);
          text(sub, at.type, of.type);
          flag(sub, at.unique, of.uniqueItems);
        }),
      );
    }),
  );
}

const SCHEMA_TEXTS = { 1: '$ref', 2: 'format', 4: 'description', 13: 'pattern' } as const;
const SCHEMA_DOUBLES = { 6: 'multipleOf', 7: 'maximum', 9: 'minimum' } as const;
const SCHEMA_FLAGS = { 8: 'exclusiveMaximum', 10: 'exclusiveMinimum' } as const;
const SCHEMA_COUNTS = {
  11: 'maxLength',
  12: 'minLength',
  14: 'maxItems',
  15: 'minItems',
  17: 'maxProperties',
  18: 'minProperties',
} as const;

function schema(w: BinaryWriter, of: V2Schema): void {
  for (const [number, name] of Object.entries(SCHEMA_TEXTS)) text(w, Number(number), of[name]);
  for (const [number, name] of Object.entries(SCHEMA_DOUBLES)) double(w, Number(number), of[name]);
  for (const [number, name] of Object.entries(SCHEMA_FLAGS)) flag(w, Number(number), of[name]);
  for (const [number, name] of Object.entries(SCHEMA_COUNTS)) count(w, Number(number), of[name]);
  texts(w, 19, of.required ?? []);
  const { type, items, properties, additionalProperties: more } = of;
  if (of.default !== undefined) nested(w, 5, (at) => anything(at, of.default));
  for (const value of of.enum ?? []) nested(w, 20, (at) => anything(at, value));
  if (typeof more === 'boolean') nested(w, 21, (at) => void at.tag(2, WireType.Varint).bool(more));
  else if (more !== undefined) nested(w, 21, (at) => nested(at, 1, (s) => schema(s, more)));
  if (type !== undefined) nested(w, 22, (at) => text(at, 1, type));
  if (items !== undefined) nested(w, 23, (at) => nested(at, 1, (s) => schema(s, items)));
  if (properties !== undefined) nested(w, 25, (at) => named(at, 1, properties, schema));
  extensions(w, 31, of);
}

function extensions(w: BinaryWriter, number: number, of: object): void {
  for (const [name, value] of Object.entries(of)) {
    if (name.startsWith('x-') && value !== undefined) entry(w, number, name, (at) => anything(at, value));
  }
}

/** A value of any kind is YAML text; JSON is YAML. */
const anything = (w: BinaryWriter, value: unknown): void => text(w, 2, `${encodeJson(value)}\n`);

function named<T>(
  w: BinaryWriter,
  number: number,
  values: Readonly<Record<string, T>>,
  write: (writer: BinaryWriter, value: T) => void,
): void {
  for (const [name, value] of Object.entries(values)) entry(w, number, name, (at) => write(at, value));
}

function entry(w: BinaryWriter, number: number, name: string, write: Write): void {
  nested(w, number, (at) => {
    text(at, 1, name);
    nested(at, 2, write);
  });
}

function nested(w: BinaryWriter, number: number, write: Write): void {
  w.tag(number, WireType.LengthDelimited).fork();
  write(w);
  w.join();
}

function text(w: BinaryWriter, number: number, value: string | undefined): void {
  if (value !== undefined && value !== '') w.tag(number, WireType.LengthDelimited).string(value);
}

function texts(w: BinaryWriter, number: number, values: readonly string[]): void {
  for (const value of values) w.tag(number, WireType.LengthDelimited).string(value);
}

function flag(w: BinaryWriter, number: number, value: boolean | undefined): void {
  if (value === true) w.tag(number, WireType.Varint).bool(true);
}

function double(w: BinaryWriter, number: number, value: number | undefined): void {
  if (value !== undefined) w.tag(number, WireType.Bit64).double(Number(value));
}

/** A bound that no reader's 64 bits hold is left out. */
function count(w: BinaryWriter, number: number, value: number | undefined): void {
  if (Number.isSafeInteger(value) && value !== undefined) w.tag(number, WireType.Varint).int64(value);
}

function bytesOf(write: Write): Uint8Array {
  const writer = new BinaryWriter();
  write(writer);
  return writer.finish();
}
