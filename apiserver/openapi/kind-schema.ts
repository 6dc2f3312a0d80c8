import type { Kind, RequestKind } from '../../resources/meta/define-kind.ts';
import { publishedSchema } from '../../resources/meta/published-schema.ts';
import type { Schema } from '../../resources/meta/schema.ts';
import { LIST_RULES } from '../patch/strategic-merge-patch.ts';
import type { OpenSchema } from './document.ts';
import { TYPE_FIELDS } from './meta-schemas.ts';
import { META_PREFIX, refTo, schemaName } from './schema-name.ts';

const metadata = (name: 'ObjectMeta' | 'ListMeta', description: string): OpenSchema => ({
  description,
  allOf: [refTo(`${META_PREFIX}.${name}`)],
});

/** The schemas of a kind and of its list, if it has any, by full name. */
export function kindSchemas(kind: Kind): Record<string, OpenSchema> {
  return {
    ...requestSchema(kind),
    ...(kind.stored ? { [schemaName(kind, kind.listKind)]: listSchema(kind) } : {}),
  };
}

/** The schema of a question, by its full name. */
export function requestSchema(kind: RequestKind): Record<string, OpenSchema> {
  return { [schemaName(kind, kind.kind)]: objectSchema(kind) };
}

function objectSchema(kind: RequestKind): OpenSchema {
  const core = kind.origin === 'core';
  const { properties, ...rest } = core
    ? marked(opened(publishedSchema(kind.schema), false))
    : opened(publishedSchema(kind.schema), true);
  return {
    ...rest,
    type: 'object',
    properties: {
      ...TYPE_FIELDS,
      ...properties,
      metadata: metadata('ObjectMeta', 'Name, labels and what the server keeps of the object.'),
    },
    'x-kubernetes-group-version-kind': [{ group: kind.group, version: kind.version, kind: kind.kind }],
  };
}

function listSchema(kind: Kind): OpenSchema {
  return {
    type: 'object',
    description: `A list of ${kind.kind} objects.`,
    required: ['items'],
    properties: {
      ...TYPE_FIELDS,
      metadata: metadata('ListMeta', 'Where the list stands.'),
      items: { type: 'array', description: 'The objects.', items: refTo(schemaName(kind, kind.kind)) },
    },
    'x-kubernetes-group-version-kind': [{ group: kind.group, version: kind.version, kind: kind.listKind }],
  };
}

/**
 * A schema with whole objects inside it given the fields that every object has. Kubernetes does not publish which fields of its own kinds
 * may be null (`nullable` false).
 */
function opened(schema: Schema, nullable: boolean): OpenSchema {
  const { properties, items, additionalProperties, nullable: marked, ...rest } = schema;
  const embedded = schema['x-kubernetes-embedded-resource'] === true;
  const own = Object.entries(properties ?? {}).map(([name, child]) => [name, opened(child, nullable)] as const);
  const fields: Record<string, OpenSchema> = {
    ...(embedded ? TYPE_FIELDS : {}),
    ...Object.fromEntries(own),
    ...(embedded ? { metadata: metadata('ObjectMeta', 'As of any object.') } : {}),
  };
  return {
    ...rest,
    ...(nullable && marked !== undefined ? { nullable: marked } : {}),
    ...(properties === undefined && !embedded ? {} : { properties: fields }),
    ...(items === undefined ? {} : { items: opened(items, nullable) }),
    ...(additionalProperties === undefined
      ? {}
      : {
          additionalProperties:
            typeof additionalProperties === 'object' ? opened(additionalProperties, nullable) : additionalProperties,
        }),
  };
}

/** How strategic merge patches treat lists: only Kubernetes' own kinds are patched so, and only clients need it said in a schema. */
function marked(schema: OpenSchema, path = ''): OpenSchema {
  const rule = LIST_RULES[path];
  const properties = Object.entries(schema.properties ?? {}).map(
    ([name, child]) => [name, marked(child, path === '' ? name : `${path}.${name}`)] as const,
  );
  return {
    ...schema,
    ...(schema.properties === undefined ? {} : { properties: Object.fromEntries(properties) }),
    ...(rule === undefined ? {} : { 'x-kubernetes-patch-strategy': 'merge' }),
    ...(rule === undefined || rule === 'values' ? {} : { 'x-kubernetes-patch-merge-key': rule.by }),
  };
}
