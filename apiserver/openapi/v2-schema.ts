import type { OpenSchema } from './document.ts';
import type { V2Schema } from './v2-document.ts';

/**
 * A schema as v2 says it. What v2 has no word for (`oneOf`, `anyOf`, `not`, `nullable`, conditions in `allOf`) is dropped: the server checks
 * it all the same. kubectl's readers of v2 refuse a `null`, and any field that `properties` do not name, and fail on an array without items;
 * so what may be null, what keeps unknown fields and such arrays have no type here, which is read as "anything".
 */
export function v2Schema(schema: OpenSchema): V2Schema {
  const {
    allOf,
    anyOf: _any,
    oneOf: _one,
    not: _not,
    nullable,
    properties,
    items,
    additionalProperties,
    ...rest
  } = schema;
  const reference = schema.$ref ?? referenceOf(allOf);
  const { type, required, $ref: _ref, ...said } = rest;
  if (reference !== undefined) return { ...described(said), $ref: definitionRef(reference) };
  const open = nullable === true || schema['x-kubernetes-preserve-unknown-fields'] === true;
  const untyped =
    (open && (nullable === true || type === 'object')) || (type === 'array' && (open || items === undefined));
  const needed = nonNullable(required, properties);
  return {
    ...said,
    ...(type === undefined || untyped ? {} : { type }),
    ...(needed.length === 0 ? {} : { required: needed }),
    ...(properties === undefined || open ? {} : { properties: v2Schemas(properties) }),
    ...(items === undefined || open ? {} : { items: v2Schema(items) }),
    ...(additionalProperties === undefined
      ? {}
      : {
          additionalProperties:
            typeof additionalProperties === 'object' ? v2Schema(additionalProperties) : additionalProperties,
        }),
  };
}

/** The schema of a whole object. One that keeps unknown fields says nothing but what it is of: a list of its fields would be taken for all. */
export function v2Definition(schema: OpenSchema): V2Schema {
  const gvk = schema['x-kubernetes-group-version-kind'];
  if (gvk === undefined || schema['x-kubernetes-preserve-unknown-fields'] !== true) return v2Schema(schema);
  return { type: 'object', 'x-kubernetes-group-version-kind': gvk };
}

/** The same names, each with its schema. */
function v2Schemas(schemas: Readonly<Record<string, OpenSchema>>): Record<string, V2Schema> {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, v2Schema(schema)]));
}

/** `#/components/schemas/NAME` of v3 as v2 has it. */
const definitionRef = (ref: string): string => ref.replace('#/components/schemas/', '#/definitions/');

/** v3 wraps a reference that has a description of its own in an `allOf`; v2 lets the two stand side by side. */
function referenceOf(allOf: OpenSchema['allOf']): string | undefined {
  const [only, ...more] = allOf ?? [];
  return only !== undefined && more.length === 0 && '$ref' in only ? only.$ref : undefined;
}

const described = ({ description }: { readonly description?: string }): V2Schema =>
  description === undefined ? {} : { description };

/** A field that may be null may be missing as well, since v2 cannot tell the two apart. */
function nonNullable(required: readonly string[] = [], properties: OpenSchema['properties']): readonly string[] {
  return required.filter((name) => properties?.[name]?.nullable !== true);
}
