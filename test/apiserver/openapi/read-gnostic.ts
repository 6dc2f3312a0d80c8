import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

type Json = Record<string, unknown>;
type Reading = readonly [name: string, read: (bytes: Uint8Array) => unknown, many?: true];

/** The document in gnostic's bytes, as its JSON. Throws on fields that it does not know. */
export function readGnosticDocument(bytes: Uint8Array): Json {
  return message(bytes, {
    1: ['swagger', text],
    2: ['info', (info) => message(info, { 1: ['title', text], 2: ['version', text] })],
    8: ['paths', (paths) => entries(paths, 2, readPath)],
    9: ['definitions', (definitions) => entries(definitions, 1, readSchema)],
  });
}

const text = (bytes: Uint8Array) => new TextDecoder('utf-8', { fatal: true }).decode(bytes);
const anything = (bytes: Uint8Array) => message(bytes, { 2: ['yaml', (yaml) => JSON.parse(text(yaml))] }).yaml;
const only = (bytes: Uint8Array, number: number, read: (bytes: Uint8Array) => unknown) =>
  message(bytes, { [number]: ['it', read] }).it;

function readPath(bytes: Uint8Array): unknown {
  const operation = (at: Uint8Array) => readOperation(at);
  return message(bytes, {
    2: ['get', operation],
    3: ['put', operation],
    4: ['post', operation],
    5: ['delete', operation],
    8: ['patch', operation],
    9: ['parameters', readParameter, true],
  });
}

function readOperation(bytes: Uint8Array): unknown {
  return message(bytes, {
    1: ['tags', text, true],
    3: ['description', text],
    5: ['operationId', text],
    6: ['produces', text, true],
    7: ['consumes', text, true],
    8: ['parameters', readParameter, true],
    9: ['responses', (responses) => entries(responses, 1, (value) => only(value, 1, readResponse))],
    10: ['schemes', text, true],
    13: ['x-', extension],
  });
}

const readResponse = (bytes: Uint8Array) =>
  message(bytes, { 1: ['description', text], 2: ['schema', (item) => only(item, 1, readSchema)] });

function readParameter(bytes: Uint8Array): unknown {
  const common = { 2: ['in', text], 3: ['description', text], 4: ['name', text] } as const;
  const parameter = only(bytes, 1, (one) =>
    message(one, {
      1: [
        'body',
        (body) =>
          message(body, { 2: ['name', text], 3: ['in', text], 4: ['required', flag], 5: ['schema', readSchema] }),
      ],
      2: [
        'plain',
        (plain) =>
          message(plain, {
            3: [
              'query',
              (q) => message(q, { ...common, 1: ['required', flag], 6: ['type', text], 20: ['uniqueItems', flag] }),
            ],
            4: [
              'path',
              (p) => message(p, { ...common, 1: ['required', flag], 5: ['type', text], 19: ['uniqueItems', flag] }),
            ],
          }),
      ],
    }),
  ) as { body?: Json; plain?: { query?: Json; path?: Json } };
  // A flag that is not set is false.
  if (parameter.body !== undefined) return { required: false, ...parameter.body };
  return parameter.plain?.query ?? parameter.plain?.path;
}

function readSchema(bytes: Uint8Array): unknown {
  return message(bytes, {
    1: ['$ref', text],
    2: ['format', text],
    4: ['description', text],
    5: ['default', anything],
    6: ['multipleOf', double],
    7: ['maximum', double],
    8: ['exclusiveMaximum', flag],
    9: ['minimum', double],
    10: ['exclusiveMinimum', flag],
    11: ['maxLength', count],
    12: ['minLength', count],
    13: ['pattern', text],
    14: ['maxItems', count],
    15: ['minItems', count],
    17: ['maxProperties', count],
    18: ['minProperties', count],
    19: ['required', text, true],
    20: ['enum', anything, true],
    21: ['additionalProperties', (at) => message(at, { 1: ['it', readSchema], 2: ['it', flag] }).it],
    22: ['type', (at) => only(at, 1, text)],
    23: ['items', (at) => only(at, 1, readSchema)],
    25: ['properties', (at) => entries(at, 1, readSchema)],
    31: ['x-', extension],
  });
}

const extension = (bytes: Uint8Array) => message(bytes, { 1: ['name', text], 2: ['value', anything] });

/** A list of named values as an object. */
function entries(bytes: Uint8Array, number: number, read: (bytes: Uint8Array) => unknown): Json {
  const pair = (at: Uint8Array) => message(at, { 1: ['name', text], 2: ['value', read] });
  const list = (message(bytes, { [number]: ['list', pair, true] }).list ?? []) as { name: string; value?: unknown }[];
  return Object.fromEntries(list.map(({ name, value }) => [name, value ?? {}]));
}

const view = (bytes: Uint8Array) => new BinaryReader(bytes);
const double = (bytes: Uint8Array) => view(bytes).double();
const flag = (bytes: Uint8Array) => view(bytes).bool();
const count = (bytes: Uint8Array) => Number(view(bytes).int64());

function message(bytes: Uint8Array, readings: Readonly<Record<number, Reading>>): Json {
  const reader = new BinaryReader(bytes);
  const found: Json = {};
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    const reading = readings[number];
    if (reading === undefined) throw new Error(`field ${number} is not known`);
    const [name, read, many] = reading;
    const value = read(wireType === WireType.LengthDelimited ? reader.bytes() : reader.skip(wireType));
    if (name === 'x-') {
      const { name: extended, value: of } = value as { name: string; value: unknown };
      found[extended] = of;
    } else {
      found[name] = many === true ? [...((found[name] as unknown[]) ?? []), value] : value;
    }
  }
  return found;
}
