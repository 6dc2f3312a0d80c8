import { Ajv, type ErrorObject } from 'ajv';
import addFormats from 'ajv-formats';
import type { Cause } from '../../resources/meta/api-error.ts';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import type { Schema } from '../../resources/meta/schema.ts';
import { invalidValue, requiredValue, tooLong, tooMany, unsupportedValue, wrongType } from './causes.ts';
import { childPath, resolvePointer } from './field-path.ts';
import { KindCompileError } from './kind-compile-error.ts';
import { compilePattern } from './safe-pattern.ts';
import { isFormat, STRING_FORMATS } from './string-formats.ts';
import type { Unchanged } from './unchanged.ts';

/** What is wrong with a value, by field; on updates without what is wrong with values that are as they were. */
export type SchemaCheck = (value: JsonObject, unchanged?: Unchanged) => Cause[];

/** Compiles a schema once. Throws KindCompileError when a pattern does not compile. */
export function compileSchemaCheck(schema: Schema): SchemaCheck {
  const faults = patternFaults(schema);
  if (faults.length > 0) throw new KindCompileError(faults);
  const ajv = new Ajv({
    allErrors: true,
    strict: false,
    validateSchema: false,
    addUsedSchema: false,
    verbose: true,
    code: { regExp: Object.assign((pattern: string) => compilePattern(pattern), { code: 're2' }) },
  });
  addFormats.default(ajv, ['date-time']);
  for (const name of STRING_FORMATS)
    ajv.addFormat(name, { type: 'string', validate: (text: string) => isFormat(name, text) });
  ajv.addKeyword({ keyword: INT64, type: 'number', validate: (_: true, value: number) => Math.abs(value) < 2 ** 63 });
  const validate = ajv.compile(jsonSchema(schema));
  return (value, unchanged) => {
    // BigInts are integers to us and nothing to ajv; messages show the original value.
    if (validate(withPlainNumbers(value))) return [];
    const errors = (validate.errors ?? []).filter((error) => unchanged?.has(stepsOf(error)) !== true);
    const causes = errors.flatMap((error) => translate(error, value));
    return causes.sort(byField);
  };
}

const byField = (a: Cause, b: Cause) => ((a.field ?? '') < (b.field ?? '') ? -1 : a.field === b.field ? 0 : 1);

/** Where the schema stands that an error is of; of a condition within a schema, the value which that schema is for. */
function stepsOf({ instancePath, schemaPath }: ErrorObject): string[] {
  const steps = instancePath
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
  let depth = 0;
  const tokens = schemaPath.split('/').slice(1);
  for (let i = 0; i < tokens.length - 1; i++) {
    if (tokens[i] === 'properties') i++;
    else if (tokens[i] !== 'items' && tokens[i] !== 'additionalProperties') break;
    depth++;
  }
  return steps.slice(0, depth);
}

/** The JSON Schema ajv understands: nulls and ints-or-strings as types, OpenAPI's boolean bounds as numbers. */
function jsonSchema(schema: Schema): Record<string, unknown> {
  const intOrString = schema['x-kubernetes-int-or-string'] === true;
  const types = intOrString ? ['integer', 'string'] : schema.type === undefined ? [] : [schema.type];
  const out: Record<string, unknown> = {};
  if (types.length > 0) out.type = schema.nullable === true ? [...types, 'null'] : types;
  if (types.includes('integer') && !types.includes('number')) out[INT64] = true;
  for (const key of COPIED) if (schema[key] !== undefined) out[key] = schema[key];
  // A list of no words is, as in Kubernetes, no restriction.
  if (schema.enum !== undefined && schema.enum.length > 0) out.enum = schema.enum;
  if (schema.format !== undefined && ENFORCED_FORMATS.has(schema.format)) out.format = schema.format;
  if (schema.minimum !== undefined)
    out[schema.exclusiveMinimum === true ? 'exclusiveMinimum' : 'minimum'] = schema.minimum;
  if (schema.maximum !== undefined)
    out[schema.exclusiveMaximum === true ? 'exclusiveMaximum' : 'maximum'] = schema.maximum;
  if (schema.items !== undefined) out.items = jsonSchema(schema.items);
  if (isObject(schema.additionalProperties)) out.additionalProperties = jsonSchema(schema.additionalProperties);
  if (schema.not !== undefined) out.not = jsonSchema(schema.not);
  for (const key of ['allOf', 'anyOf', 'oneOf'] as const) {
    const parts = schema[key];
    if (parts !== undefined) out[key] = parts.map(jsonSchema);
  }
  const embedded = schema['x-kubernetes-embedded-resource'] === true;
  const properties = { ...(embedded ? EMBEDDED : {}), ...schema.properties };
  const required = [...(schema.required ?? []), ...(embedded ? Object.keys(EMBEDDED) : [])];
  out.properties = Object.fromEntries(Object.entries(properties).map(([name, child]) => [name, jsonSchema(child)]));
  if (required.length > 0) out.required = [...new Set(required)];
  return out;
}

const COPIED = [
  'pattern',
  'multipleOf',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
] as const;
// int32 and int64 are notes for clients: Kubernetes lets a larger integer pass.
const ENFORCED_FORMATS = new Set<string>(['date-time', ...STRING_FORMATS]);
const EMBEDDED: Readonly<Record<string, Schema>> = {
  apiVersion: { type: 'string' },
  kind: { type: 'string' },
  metadata: { type: 'object' },
};

/** The largest double below 2^63: a BigInt is an integer of 64 bits, and stays one when it is rounded. */
const LARGEST = 2 ** 63 - 1024;
/** What is beyond 64 bits is a number, and no integer. */
const INT64 = 'x-int64';

/** The value itself when it holds no BigInt. */
function withPlainNumbers(value: unknown): unknown {
  if (typeof value === 'bigint') return Math.max(-LARGEST, Math.min(LARGEST, Number(value)));
  if (Array.isArray(value)) {
    const plain = value.map(withPlainNumbers);
    return plain.every((item, i) => item === value[i]) ? value : plain;
  }
  if (!isObject(value)) return value;
  const plain = Object.entries(value).map(([name, field]) => [name, withPlainNumbers(field)] as const);
  return plain.every(([name, field]) => field === value[name]) ? value : Object.fromEntries(plain);
}

/** Patterns that do not compile, each with its place in the schema. */
function patternFaults(schema: Schema, place = ''): Cause[] {
  const faults: Cause[] = [];
  if (schema.pattern !== undefined) {
    try {
      compilePattern(schema.pattern);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      faults.push(
        invalidValue(`${place}pattern`, schema.pattern, `must be a valid regular expression, but isn't: ${why}`),
      );
    }
  }
  for (const [name, child] of Object.entries(schema.properties ?? {})) {
    faults.push(...patternFaults(child, `${place}properties[${name}].`));
  }
  if (schema.items !== undefined) faults.push(...patternFaults(schema.items, `${place}items.`));
  if (isObject(schema.additionalProperties)) {
    faults.push(...patternFaults(schema.additionalProperties, `${place}additionalProperties.`));
  }
  for (const key of ['allOf', 'anyOf', 'oneOf'] as const) {
    for (const [i, part] of (schema[key] ?? []).entries()) faults.push(...patternFaults(part, `${place}${key}[${i}].`));
  }
  if (schema.not !== undefined) faults.push(...patternFaults(schema.not, `${place}not.`));
  return faults;
}

function translate(error: ErrorObject, root: JsonObject): Cause[] {
  const { path, value } = resolvePointer(root, error.instancePath);
  const limit = Number(error.params.limit);
  switch (error.keyword) {
    case 'type':
      return [wrongType(path, value, typesOf(error).join(','))];
    case INT64:
      return [wrongType(path, value, 'integer')];
    case 'required':
      return [requiredValue(childPath(path, String(error.params.missingProperty)))];
    case 'enum':
      return [unsupportedValue(path, value, error.schema as readonly unknown[])];
    case 'format':
      return [wrongType(path, value, String(error.params.format), String(value))];
    case 'maxLength':
      return [tooLong(path, limit)];
    case 'maxItems':
      return [tooMany(path, (value as readonly unknown[]).length, limit)];
    case 'maxProperties':
      return [tooMany(path, Object.keys(value as JsonObject).length, limit)];
    case 'anyOf':
    case 'oneOf':
    case 'not':
      return [
        {
          reason: 'FieldValueInvalid',
          field: path,
          message: `Invalid value: "": "${path}" ${COMPOSITE[error.keyword]}`,
        },
      ];
    case 'if':
      return [];
    default:
      return [invalidValue(path, shownAt(error.keyword, value), `${path} in body ${sentence(error)}`)];
  }
}

const COMPOSITE = {
  anyOf: 'must validate at least one schema (anyOf)',
  oneOf: 'must validate one and only one schema (oneOf)',
  not: 'must not validate the schema (not)',
} as const;

function typesOf(error: ErrorObject): readonly string[] {
  const types = error.params.type as string | readonly string[];
  return (typeof types === 'string' ? types.split(',') : types).filter((type) => type !== 'null');
}

/** Lists and maps that are too small are shown by their size. */
function shownAt(keyword: string, value: unknown): unknown {
  if (keyword === 'minItems') return (value as readonly unknown[]).length;
  return keyword === 'minProperties' ? Object.keys(value as JsonObject).length : value;
}

function sentence(error: ErrorObject): string {
  const limit: unknown = error.params.limit;
  switch (error.keyword) {
    case 'pattern':
      return `should match '${String(error.params.pattern)}'`;
    case 'minimum':
      return `should be greater than or equal to ${limit}`;
    case 'exclusiveMinimum':
      return `should be greater than ${limit}`;
    case 'maximum':
      return `should be less than or equal to ${limit}`;
    case 'exclusiveMaximum':
      return `should be less than ${limit}`;
    case 'multipleOf':
      return `should be a multiple of ${String(error.params.multipleOf)}`;
    case 'minLength':
      return `should be at least ${limit} chars long`;
    case 'minItems':
      return `should have at least ${limit} items`;
    case 'minProperties':
      return `should have at least ${limit} properties`;
    default:
      return error.message ?? `should satisfy ${error.keyword}`;
  }
}
