import { canonicalBase64 } from '../../resources/meta/base64.ts';
import type { Kind } from '../../resources/meta/define-kind.ts';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import { LEFT_OUT, rewriteFields } from '../../resources/meta/rewrite-fields.ts';
import type { Schema } from '../../resources/meta/schema.ts';
import { undecodable } from './field-validation.ts';
import { typeName } from './go-format.ts';
import { goWord, jsonWord } from './go-words.ts';
import { canonicalTime } from './struct-time.ts';
import { propertyOf } from './structural.ts';

type Named = Pick<Kind, 'kind' | 'version' | 'struct' | 'schema'>;

/**
 * An object as it comes out of a Go struct (`Kind.struct`): shapes are assured, nulls and empty values are left out, base64 and times are
 * in their one form. Throws BadRequest naming the field of a wrong value. Metadata and unknown fields stay as they are.
 */
export function decodeStruct(kind: Named, object: JsonObject): JsonObject {
  if (!kind.struct) return object;
  const { apiVersion, kind: name, metadata, ...body } = object;
  const decoded = new Decoder(kind).fields(body, kind.schema, '');
  const types = { ...(apiVersion === undefined ? {} : { apiVersion }), ...(name === undefined ? {} : { kind: name }) };
  return { ...types, ...(metadata === undefined ? {} : { metadata }), ...decoded };
}

const INT32 = 2 ** 31;

class Decoder {
  readonly #kind: Named;

  constructor(kind: Named) {
    this.#kind = kind;
  }

  /** The fields of an object that are to be kept. */
  fields(value: JsonObject, schema: Schema, path: string): JsonObject {
    return rewriteFields(value, (name, given) => {
      const own = propertyOf(schema, name);
      const each = isObject(schema.additionalProperties) ? schema.additionalProperties : undefined;
      if (own !== undefined) {
        const decoded = given === null ? null : this.#value(given, own, path === '' ? name : `${path}.${name}`);
        return decoded === null || isLeftOut(decoded, own) ? LEFT_OUT : decoded;
      }
      // The values of a map are what they are; a null is the empty one.
      if (each !== undefined) return given === null ? '' : this.#value(given, each, path);
      return given;
    });
  }

  #value(value: unknown, schema: Schema, path: string): unknown {
    if (schema.type !== undefined && !isOfType(value, schema)) throw this.#wrongType(value, schema, path);
    if (isObject(value)) return this.fields(value, schema, path);
    const { items } = schema;
    if (Array.isArray(value) && items !== undefined)
      return value.map((item) => (item === null ? emptyOf(items) : this.#value(item, items, path)));
    return typeof value === 'string' ? this.#text(value, schema) : value;
  }

  #text(text: string, schema: Schema): string {
    if (schema.format === 'byte') {
      const read = canonicalBase64(text);
      if ('text' in read) return read.text;
      throw undecodable(this.#kind, `illegal base64 data at input byte ${read.wrongAt}`);
    }
    if (schema.format !== 'date-time') return text;
    const time = canonicalTime(text, schema['x-coppice-micro-time'] === true);
    if ('text' in time) return time.text;
    throw undecodable(this.#kind, time.problem);
  }

  #wrongType(value: unknown, schema: Schema, path: string) {
    const whole = typeof value === 'number' && schema.type === 'integer';
    const what = whole ? `number ${value}` : jsonWord(value);
    return undecodable(
      this.#kind,
      `json: cannot unmarshal ${what} into Go struct field ${this.#kind.kind}.${path} of type ${goWord(schema)}`,
    );
  }
}

function isOfType(value: unknown, schema: Schema): boolean {
  const name = typeName(value);
  if (schema.type === 'number') return name === 'integer' || name === 'number';
  if (name !== schema.type) return false;
  return schema.type !== 'integer' || schema.format !== 'int32' || (Number(value) >= -INT32 && Number(value) < INT32);
}

/** Empty, where that says no more than absence does. */
function isLeftOut(value: unknown, schema: Schema): boolean {
  if (schema.default !== undefined || schema.nullable === true) return false;
  if (value === '' || value === 0 || value === false) return true;
  if (Array.isArray(value)) return value.length === 0;
  return schema.additionalProperties !== undefined && isObject(value) && hasNoField(value);
}

function hasNoField(value: JsonObject): boolean {
  for (const name in value) if (Object.hasOwn(value, name)) return false;
  return true;
}

function emptyOf(schema: Schema): unknown {
  return schema.type === 'object' ? {} : '';
}
