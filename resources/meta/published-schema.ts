import { type Schema, writersOf } from './schema.ts';

/** A schema as clients and other servers may see it: `x-coppice-writer` becomes a sentence of the description. */
export function publishedSchema(schema: Schema): Schema {
  const { 'x-coppice-writer': _, 'x-coppice-micro-time': __, 'x-coppice-condition-writers': ___, ...shown } = schema;
  const { description, properties, items, additionalProperties, ...rest } = shown;
  const writers = writersOf(schema);
  const written = writers.length === 0 ? undefined : `Written by ${writers.join(' or ')}.`;
  const text = [description, written].filter((s) => s !== undefined);
  return {
    ...(text.length === 0 ? {} : { description: text.join(' ') }),
    ...rest,
    ...(properties === undefined ? {} : { properties: mapSchemas(properties, publishedSchema) }),
    ...(items === undefined ? {} : { items: publishedSchema(items) }),
    ...(additionalProperties === undefined
      ? {}
      : {
          additionalProperties:
            typeof additionalProperties === 'object' ? publishedSchema(additionalProperties) : additionalProperties,
        }),
  };
}

/** The same names with each schema changed. */
export function mapSchemas(
  properties: Readonly<Record<string, Schema>>,
  change: (schema: Schema, name: string) => Schema,
): Record<string, Schema> {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, change(schema, name)]));
}
