import type { Static, TSchema } from 'typebox';
import { Type } from './type.ts';

/**
 * A structural schema: the part of OpenAPI v3 that a CustomResourceDefinition may hold
 * (kubernetes.io, "Specifying a structural schema"), plus our `x-coppice-writer`.
 */
export interface Schema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly nullable?: boolean;
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly exclusiveMaximum?: boolean;
  readonly multipleOf?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  /** Further conditions on a value whose shape the rest of the schema gives. */
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly not?: Schema;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-embedded-resource'?: boolean;
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-map-type'?: 'atomic' | 'granular';
  readonly 'x-kubernetes-validations'?: readonly ValidationRule[];
  /** Who writes this field, when it is not the user: one identity, or each of some. Carried over when absent, refused when changed by others. */
  readonly 'x-coppice-writer'?: string | readonly string[];
  /** Of a list of conditions: who writes those of a type, where that is not whoever writes the status. */
  readonly 'x-coppice-condition-writers'?: Readonly<Record<string, readonly string[]>>;
  /** A `date-time` of a struct that is kept to the microsecond; others are kept to the second. */
  readonly 'x-coppice-micro-time'?: true;
}

export interface ValidationRule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly fieldPath?: string;
  readonly reason?: string;
  /** `oldSelf` is an optional value, and the rule holds on creation too. */
  readonly optionalOldSelf?: boolean;
}

/** The identities that write a field; none: the user does. */
export function writersOf(schema: Schema): readonly string[] {
  const { 'x-coppice-writer': writer = [] } = schema;
  return typeof writer === 'string' ? [writer] : writer;
}

/** A schema as plain JSON, without the marks the type builder leaves; fields with a default are not `required` of users. */
export function plainSchema(schema: TSchema): Schema {
  return withoutDefaulted(JSON.parse(JSON.stringify(schema)) as Schema);
}

function withoutDefaulted(schema: Schema): Schema {
  const properties =
    schema.properties &&
    Object.fromEntries(Object.entries(schema.properties).map(([name, child]) => [name, withoutDefaulted(child)]));
  const required = schema.required?.filter((name) => schema.properties?.[name]?.default === undefined);
  const { required: _, ...rest } = schema;
  return {
    ...rest,
    ...(properties === undefined ? {} : { properties }),
    ...(required === undefined || required.length === 0 ? {} : { required }),
    ...(schema.items === undefined ? {} : { items: withoutDefaulted(schema.items) }),
    ...(typeof schema.additionalProperties === 'object'
      ? { additionalProperties: withoutDefaulted(schema.additionalProperties) }
      : {}),
  };
}

/** One of a closed list of words. */
export function oneOf<const T extends string>(values: readonly T[], options: Omit<Schema, 'type' | 'enum'> = {}) {
  return Type.Unsafe<T>({ type: 'string', enum: values, ...options });
}

/** Any string key to one type of value. */
export function mapOf<T extends TSchema>(values: T, options: Omit<Schema, 'type' | 'additionalProperties'> = {}) {
  return Type.Unsafe<Record<string, Static<T>>>({ type: 'object', additionalProperties: values, ...options });
}

const QUANTITY = '^([0-9]+)([KMGTP]i|[kMGTP])?$';
const DURATION = '^([0-9]{1,9}h)?([0-9]{1,9}m)?([0-9]{1,9}s)?$';

/** A whole number of bytes with an optional suffix: `128Mi`, `8Gi`, `1500M`. */
export function quantity(options: Omit<Schema, 'type'> = {}) {
  return Type.String({ pattern: QUANTITY, maxLength: 24, ...options });
}

/** A duration in Go syntax, whole hours, minutes and seconds: `8h`, `1h30m`. */
export function duration(options: Omit<Schema, 'type'> = {}) {
  return Type.String({ pattern: DURATION, minLength: 2, maxLength: 24, ...options });
}

/** An instant: RFC 3339 UTC. */
export function instant(options: Omit<Schema, 'type' | 'format'> = {}) {
  return Type.String({ format: 'date-time', ...options });
}

/** The list of conditions every status has. `writers` are of conditions that not everybody who writes the status may write. */
export function conditions(writers?: Readonly<Record<string, readonly string[]>>) {
  return Type.Optional(
    Type.Array(
      Type.Object({
        type: Type.String({ description: 'What is true or not, such as Ready.' }),
        status: oneOf(['True', 'False', 'Unknown'], { description: 'Whether it is.' }),
        reason: Type.String({ description: 'One word for why, from a closed list.' }),
        message: Type.String({ description: 'The same for people, with the numbers.' }),
        observedGeneration: Type.Optional(
          Type.Integer({ format: 'int64', description: 'The generation this was judged on.' }),
        ),
        lastTransitionTime: instant({ description: 'When status last changed.' }),
      }),
      {
        description: 'The conditions of the object; one owner each.',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['type'],
        ...(writers === undefined ? {} : { 'x-coppice-condition-writers': writers }),
      },
    ),
  );
}
