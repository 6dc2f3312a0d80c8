import type {
  CustomResourceDefinition,
  DefinitionNames,
  DefinitionVersion,
} from '../../resources/kinds/custom-resource-definition.ts';
import { isTrue } from '../../resources/meta/condition.ts';
import type { Kind } from '../../resources/meta/define-kind.ts';
import { setOwn } from '../../resources/meta/json-reader.ts';
import { kindFromCRD } from '../../resources/meta/kind-from-crd.ts';
import type { JsonObject } from '../../resources/meta/object.ts';
import type { Schema } from '../../resources/meta/schema.ts';

/**
 * The kinds a definition makes, one a served version, by the names that were accepted; none before it is established. One that is being
 * deleted is served in some version whatever it says, since its objects must be reached to be deleted.
 */
export function kindsOfDefinition(definition: CustomResourceDefinition): readonly Kind[] {
  const names = definition.status?.acceptedNames;
  if (names === undefined || !isEstablished(definition)) return [];
  const { versions } = definition.spec;
  const served = versions.filter((version) => version.served);
  const ending = definition.metadata.deletionTimestamp !== undefined;
  const offered = served.length === 0 && ending ? versions.filter((version) => version.storage) : served;
  return offered.map((version) => kindOfVersion(definition, version, names));
}

export function isEstablished(definition: CustomResourceDefinition): boolean {
  const conditions = [...(definition.status?.conditions ?? [])];
  return isTrue({ ...definition, status: { conditions } }, 'Established');
}

/** The kind of one version. */
export function kindOfVersion(
  definition: CustomResourceDefinition,
  version: DefinitionVersion,
  names: DefinitionNames,
): Kind {
  const { spec } = definition;
  const versions = spec.versions.map(withPlainBounds);
  return kindFromCRD({ spec: { ...spec, versions } }, withPlainBounds(version), names);
}

function withPlainBounds(version: DefinitionVersion): DefinitionVersion {
  const schema = version.schema?.openAPIV3Schema;
  return schema === undefined ? version : { ...version, schema: { openAPIV3Schema: plainBounds(schema) } };
}

const plain = new WeakMap<Schema, Schema>();

/** Bounds and enums are compared with doubles, so a long integer in them becomes one; defaults keep every digit. The schema itself when there is none. */
export function plainBounds(schema: Schema): Schema {
  let made = plain.get(schema);
  if (made === undefined) {
    made = walk(schema, 'schema') as Schema;
    plain.set(schema, made);
  }
  return made;
}

type Part = 'schema' | 'map' | 'value';
const MAPS: ReadonlySet<string> = new Set(['properties']);
const SCHEMAS: ReadonlySet<string> = new Set(['items', 'additionalProperties', 'not', 'allOf', 'anyOf', 'oneOf']);

/** The value itself when nothing in it becomes another. */
function walk(value: unknown, part: Part): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => walk(item, part));
    return items.every((item, i) => item === value[i]) ? value : items;
  }
  const fields = value as JsonObject;
  let out: JsonObject | undefined;
  for (const name of Object.keys(fields)) {
    const field = fields[name];
    const made = walkField(name, field, part);
    if (made === field) continue;
    out ??= { ...fields };
    setOwn(out, name, made);
  }
  return out ?? value;
}

function walkField(name: string, field: unknown, part: Part): unknown {
  if (part !== 'schema') return walk(field, part === 'map' ? 'schema' : 'value');
  if (MAPS.has(name)) return walk(field, 'map');
  if (SCHEMAS.has(name)) return walk(field, 'schema');
  return name === 'default' || name === 'example' ? field : walk(field, 'value');
}
