import type { Kind } from '../../resources/meta/define-kind.ts';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import { LEFT_OUT, rewriteFields } from '../../resources/meta/rewrite-fields.ts';
import type { Schema } from '../../resources/meta/schema.ts';
import { undecodable } from './field-validation.ts';
import { typeName } from './go-format.ts';
import { goWord, jsonWord } from './go-words.ts';
import { OBJECT_META } from './object-meta-schema.ts';
import { propertyOf } from './structural.ts';

/**
 * Assures that an object's metadata has ObjectMeta's shape, dropping nulls in it as if they were absent (of a map's texts they are empty). Throws
 * BadRequest naming the field of a wrong type. Unknown fields are left for `pruneUnknown`. The input is left as it is.
 */
export function decodeMetadata<T extends JsonObject>(kind: Pick<Kind, 'kind' | 'version'>, object: T): T {
  const metadata = decode(object.metadata ?? {}, OBJECT_META, 'metadata', kind);
  return metadata === object.metadata ? object : { ...object, metadata };
}

function decode(value: unknown, schema: Schema, path: string, kind: Pick<Kind, 'kind' | 'version'>): unknown {
  if (schema.type !== undefined && typeName(value) !== schema.type) {
    throw undecodable(
      kind,
      `json: cannot unmarshal ${jsonWord(value)} into Go struct field ObjectMeta.${path} of type ${goWord(schema)}`,
    );
  }
  const { items } = schema;
  if (Array.isArray(value) && items !== undefined) {
    const kept = value.filter((item) => item !== null).map((item) => decode(item, items, path, kind));
    return kept.length === value.length && kept.every((item, i) => item === value[i]) ? value : kept;
  }
  if (!isObject(value) || schema['x-kubernetes-preserve-unknown-fields'] === true) return value;
  return rewriteFields(value, (name, field) => {
    const known =
      propertyOf(schema, name) ?? (isObject(schema.additionalProperties) ? schema.additionalProperties : undefined);
    // A map's null is the empty text, as Go decodes it.
    if (field === null && known === schema.additionalProperties && known !== undefined) return '';
    if (known !== undefined && field === null) return LEFT_OUT;
    return known === undefined ? field : decode(field, known, `${path}.${name}`, kind);
  });
}
