import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { loadAll } from 'js-yaml';
import { BUILT_IN_KINDS } from '../../resources/kinds.ts';
import type { Kind } from '../../resources/meta/define-kind.ts';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import { apiVersionOf } from '../../resources/meta/resource-id.ts';
import type { Schema } from '../../resources/meta/schema.ts';

export const MANIFESTS = join(import.meta.dirname, '..', '..', 'manifests');

/** The one document of a file below manifests/. */
export function loadManifest(file: string): JsonObject {
  const [document, second] = loadManifests(file);
  if (document === undefined || second !== undefined) throw new Error(`${file} must hold one object`);
  return document;
}

/** The documents of a file below manifests/. */
export function loadManifests(file: string): readonly JsonObject[] {
  return loadAll(readFileSync(join(MANIFESTS, file), 'utf8')).map((document) => {
    if (!isObject(document)) throw new Error(`${file} holds what is no object`);
    return document;
  });
}

/** The built-in kind of an object. */
export function kindOf(object: JsonObject): Kind {
  const kind = BUILT_IN_KINDS.find((one) => one.kind === object.kind && apiVersionOf(one) === object.apiVersion);
  if (kind === undefined) throw new Error(`no kind is ${object.apiVersion} ${object.kind}`);
  return kind;
}

/** What a schema finds wrong with a value, unknown fields included. */
export function wrongWith(schema: Schema, value: unknown): readonly string[] {
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats.default(ajv);
  const check = ajv.compile(schema);
  const wrong = check(value) ? [] : (check.errors ?? []).map((e) => `${e.instancePath} ${e.message}`);
  return [...wrong, ...unknownFields(schema, value, '')];
}

function unknownFields(schema: Schema, value: unknown, path: string): readonly string[] {
  if (Array.isArray(value)) {
    return value.flatMap((item, i) => unknownFields(schema.items ?? {}, item, `${path}/${i}`));
  }
  if (!isObject(value) || schema['x-kubernetes-preserve-unknown-fields'] === true) return [];
  return Object.entries(value).flatMap(([name, child]) => {
    const at = `${path}/${name}`;
    const known = schema.properties?.[name] ?? schema.additionalProperties;
    if (known === undefined || known === false) return [`${at} is unknown`];
    return known === true ? [] : unknownFields(known, child, at);
  });
}
