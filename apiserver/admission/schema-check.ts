import type { Cause } from '../../resources/meta/api-error.ts';
import type { JsonObject } from '../../resources/meta/object.ts';
import type { Schema } from '../../resources/meta/schema.ts';
import { invalidValue, requiredValue, tooLong, tooMany, unsupportedValue, wrongType } from './causes.ts';
import { childPath } from './field-path.ts';
import { KindCompileError } from './kind-compile-error.ts';
import { patternFaults } from './pattern-faults.ts';
import { type SchemaError, schemaErrors } from './schema-errors.ts';
import { SchemaNode } from './schema-node.ts';
import type { Unchanged } from './unchanged.ts';

/** What is wrong with a value, by field; on updates without what is wrong with values that are as they were. */
type SchemaCheck = (value: JsonObject, unchanged?: Unchanged) => Cause[];

/** Compiles a schema once. Throws KindCompileError when a pattern does not compile. */
export function compileSchemaCheck(schema: Schema): SchemaCheck {
  const faults = patternFaults(schema);
  if (faults.length > 0) throw new KindCompileError(faults);
  return schemaCheck(schema);
}

/** The check of a schema whose patterns compile. */
export function schemaCheck(schema: Schema): SchemaCheck {
  const node = new SchemaNode(schema);
  return (value, unchanged) => {
    const errors = schemaErrors(node, value);
    const causes: Cause[] = [];
    let told = 0;
    for (const error of errors) {
      if (unchanged?.has(error.steps.slice(0, error.depth)) === true) continue;
      const cause = translate(error, value);
      told += cause.message.length;
      if (causes.length > 0 && told > MOST_CHARACTERS) break;
      causes.push(cause);
    }
    return causes.sort(byField);
  };
}

/** What is told of one value; the supported values of an enum may be many, and wrong ones too. */
const MOST_CHARACTERS = 1 << 20;

const byField = (a: Cause, b: Cause) => ((a.field ?? '') < (b.field ?? '') ? -1 : a.field === b.field ? 0 : 1);

function translate({ keyword, steps, node, missing = '' }: SchemaError, root: JsonObject): Cause {
  const { path, value } = placeOf(steps, root);
  const { schema } = node;
  switch (keyword) {
    case 'type':
      return wrongType(path, value, node.types.filter((type) => type !== 'null').join(','));
    case 'integer':
      return wrongType(path, value, 'integer');
    case 'effort':
      return { reason: 'FieldValueInvalid', field: path, message: `Invalid value: "": ${EFFORT}` };
    case 'required':
      return requiredValue(childPath(path, missing));
    case 'enum':
      return unsupportedValue(path, value, schema.enum ?? []);
    case 'format':
      return wrongType(path, value, schema.format ?? '', String(value));
    case 'maxLength':
      return tooLong(path, schema.maxLength ?? 0);
    case 'maxItems':
      return tooMany(path, (value as readonly unknown[]).length, schema.maxItems ?? 0);
    case 'maxProperties':
      return tooMany(path, Object.keys(value as JsonObject).length, schema.maxProperties ?? 0);
    case 'anyOf':
    case 'oneOf':
    case 'not':
      return {
        reason: 'FieldValueInvalid',
        field: path,
        message: `Invalid value: "": "${path}" ${COMPOSITE[keyword]}`,
      };
    default:
      return invalidValue(path, shownAt(keyword, value), `${path} in body ${sentence(keyword, schema)}`);
  }
}

function placeOf(steps: SchemaError['steps'], root: JsonObject): { readonly path: string; readonly value: unknown } {
  let path = '';
  let value: unknown = root;
  for (const step of steps) {
    path = typeof step === 'number' ? `${path}[${step}]` : childPath(path, step);
    value = (value as Readonly<Record<string | number, unknown>>)[step];
  }
  return { path, value };
}

const EFFORT = 'checking the object against its schema takes more work than one request may ask for';

const COMPOSITE = {
  anyOf: 'must validate at least one schema (anyOf)',
  oneOf: 'must validate one and only one schema (oneOf)',
  not: 'must not validate the schema (not)',
} as const;

/** Lists and maps that are too small are shown by their size. */
function shownAt(keyword: string, value: unknown): unknown {
  if (keyword === 'minItems') return (value as readonly unknown[]).length;
  return keyword === 'minProperties' ? Object.keys(value as JsonObject).length : value;
}

function sentence(keyword: string, schema: Schema): string {
  switch (keyword) {
    case 'pattern':
      return `should match '${schema.pattern}'`;
    case 'minimum':
      return `should be greater than or equal to ${schema.minimum}`;
    case 'exclusiveMinimum':
      return `should be greater than ${schema.minimum}`;
    case 'maximum':
      return `should be less than or equal to ${schema.maximum}`;
    case 'exclusiveMaximum':
      return `should be less than ${schema.maximum}`;
    case 'multipleOf':
      return `should be a multiple of ${schema.multipleOf}`;
    case 'minLength':
      return `should be at least ${schema.minLength} chars long`;
    case 'minItems':
      return `should have at least ${schema.minItems} items`;
    case 'minProperties':
      return `should have at least ${schema.minProperties} properties`;
    default:
      return `should satisfy ${keyword}`;
  }
}
