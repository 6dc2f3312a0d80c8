import type { TSchema, Type as Typebox } from 'typebox';

/*
 * The part of TypeBox's builder that kinds are written with. The types are TypeBox's own; what they are made of is a few lines, where loading TypeBox
 * takes a third of what a start of the server does.
 */

/** Schemas of fields that may be absent. */
const optional = new WeakSet<object>();

/** A schema, as the types of the builder have it. TypeBox's own has marks besides that nothing here reads. */
const made = (schema: object) => schema as TSchema;

function objectOf(properties: Readonly<Record<string, object>>, options: object = {}): TSchema {
  const required = Object.keys(properties).filter((name) => !optional.has(properties[name] ?? {}));
  return made({ type: 'object', ...(required.length === 0 ? {} : { required }), properties, ...options });
}

function optionalOf(schema: object): TSchema {
  const copy = { ...schema };
  optional.add(copy);
  return made(copy);
}

const ofType =
  (type: string) =>
  (options: object = {}) =>
    made({ type, ...options });

/** Builds schemas that are types as well, by `Static`. */
export const Type = {
  Array: ((items: object, options: object = {}) => made({ type: 'array', items, ...options })) as typeof Typebox.Array,
  Boolean: ofType('boolean') as typeof Typebox.Boolean,
  Integer: ofType('integer') as typeof Typebox.Integer,
  Object: objectOf as typeof Typebox.Object,
  Optional: optionalOf as typeof Typebox.Optional,
  String: ofType('string') as typeof Typebox.String,
  Unsafe: made as typeof Typebox.Unsafe,
};
