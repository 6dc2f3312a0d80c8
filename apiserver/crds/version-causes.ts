import type { CustomResourceDefinition, DefinitionVersion } from '../../resources/kinds/custom-resource-definition.ts';
import type { Cause } from '../../resources/meta/api-error.ts';
import type { Schema } from '../../resources/meta/schema.ts';
import {
  forbiddenField,
  invalidValue,
  requiredValue,
  tooMany,
  unsupportedValue,
  wrongType,
} from '../admission/causes.ts';
import { compiledSoon } from '../admission/compiled-schema.ts';
import { KindCompileError } from '../admission/kind-compile-error.ts';
import { LongWork } from '../admission/long-work.ts';
import { propertyOf } from '../admission/structural.ts';
import { compileKindValidator } from '../admission/validate.ts';
import { type JsonPath, parseJsonPath } from '../table/json-path.ts';
import { defaultCauses } from './default-causes.ts';
import { kindOfVersion, plainBounds } from './definition-kinds.ts';
import { shapeCauses } from './schema-shape.ts';
import { structuralCauses } from './structural-causes.ts';

const COLUMN_TYPES = ['boolean', 'date', 'integer', 'number', 'string'];
const COLUMN_FORMATS = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password'];
const SELECTABLE_TYPES = ['boolean', 'integer', 'string'];
const MAX_SELECTABLE = 8;
const MAX_WARNING = 256;
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Cn}\p{Co}\p{Zl}\p{Zp}]/u;

/** What is wrong with one version of a definition: its schema, its columns, its parts. */
export function versionCauses(
  definition: CustomResourceDefinition,
  version: DefinitionVersion,
  place: string,
): readonly Cause[] {
  const causes = [
    ...deprecationCauses(version, place),
    ...columnCauses(version, place),
    ...scaleCauses(version, place),
  ];
  const schema = version.schema?.openAPIV3Schema;
  const at = `${place}.schema.openAPIV3Schema`;
  if (schema === undefined) return [...causes, requiredValue(at, 'every version has a schema')];
  const schemaFaults = schemaCauses(schema, at);
  if (schemaFaults.length > 0) return [...causes, ...schemaFaults];
  causes.push(...selectableCauses(version, schema, place));
  return causes.length > 0 ? causes : compileCauses(definition, version, at);
}

function deprecationCauses({ deprecated, deprecationWarning: text }: DefinitionVersion, place: string): Cause[] {
  if (text === undefined) return [];
  const wrong = (why: string) => [invalidValue(`${place}.deprecationWarning`, text, why)];
  if (deprecated !== true) return wrong('only a deprecated version has one');
  if (text === '' || text.length > MAX_WARNING) return wrong(`must have between 1 and ${MAX_WARNING} characters`);
  return UNPRINTABLE.test(text) ? wrong('must only hold printable characters') : [];
}

function schemaCauses(schema: Schema, place: string): readonly Cause[] {
  const shape = shapeCauses(schema, place);
  if (shape.length > 0) return shape;
  const structural = structuralCauses(schema, place);
  return structural.length > 0 ? structural : compiled(place, () => defaultCauses(plainBounds(schema), place));
}

/** What shows only when the kind is made: patterns, rules, and whatever else a validator cannot be made from. */
function compileCauses(definition: CustomResourceDefinition, version: DefinitionVersion, place: string) {
  return compiled(place, () => {
    const kind = kindOfVersion(definition, version, definition.spec.names);
    compiledSoon(kind.schema);
    compileKindValidator(kind);
    return [];
  });
}

function compiled(place: string, compile: () => readonly Cause[]): readonly Cause[] {
  try {
    return compile();
  } catch (error) {
    if (error instanceof LongWork) throw error;
    if (error instanceof KindCompileError) {
      return error.causes.map((cause) => ({ ...cause, field: `${place}.${cause.field ?? ''}` }));
    }
    const why = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    return [
      { reason: 'FieldValueInvalid', field: place, message: `Invalid value: "": the schema does not compile: ${why}` },
    ];
  }
}

function columnCauses({ additionalPrinterColumns = [] }: DefinitionVersion, place: string): Cause[] {
  return additionalPrinterColumns.flatMap((column, i) => {
    const at = `${place}.additionalPrinterColumns[${i}]`;
    const causes: Cause[] = [];
    if (column.name === '') causes.push(requiredValue(`${at}.name`));
    if (!COLUMN_TYPES.includes(column.type)) causes.push(unsupportedValue(`${at}.type`, column.type, COLUMN_TYPES));
    if (column.format !== undefined && column.format !== '' && !COLUMN_FORMATS.includes(column.format))
      causes.push(unsupportedValue(`${at}.format`, column.format, COLUMN_FORMATS));
    if (column.jsonPath === '') causes.push(requiredValue(`${at}.jsonPath`));
    else if (!/^[.[]/.test(column.jsonPath) || parseJsonPath(column.jsonPath) === undefined)
      causes.push(invalidValue(`${at}.jsonPath`, column.jsonPath, 'is no JSON path that a column can show'));
    return causes;
  });
}

function scaleCauses({ subresources }: DefinitionVersion, place: string): Cause[] {
  const scale = subresources?.scale;
  if (scale === undefined) return [];
  const at = `${place}.subresources.scale`;
  return [
    ...plainPathCauses(scale.specReplicasPath, ['spec'], `${at}.specReplicasPath`),
    ...plainPathCauses(scale.statusReplicasPath, ['status'], `${at}.statusReplicasPath`),
    ...(scale.labelSelectorPath === undefined
      ? []
      : plainPathCauses(scale.labelSelectorPath, ['status', 'spec'], `${at}.labelSelectorPath`)),
  ];
}

function plainPathCauses(path: string, roots: readonly string[], place: string): Cause[] {
  const fields = fieldsOf(path);
  if (fields !== undefined && fields.length > 1 && roots.includes(fields[0] ?? '')) return [];
  const under = roots.map((root) => `.${root}.`).join(' or ');
  return [invalidValue(place, path, `must be a path of fields under ${under}`)];
}

/** The field names of a path without lists and filters; undefined for any other path. */
function fieldsOf(path: string): readonly string[] | undefined {
  if (!/^(\.[^.[\]'"\\\s]+)+$/.test(path)) return undefined;
  const steps: JsonPath = parseJsonPath(path) ?? [];
  const names = steps.flatMap((step) => (step.step === 'field' ? [step.name] : []));
  return names.length > 0 && names.length === steps.length ? names : undefined;
}

function selectableCauses({ selectableFields = [] }: DefinitionVersion, schema: Schema, place: string): Cause[] {
  const at = `${place}.selectableFields`;
  const causes: Cause[] = [];
  if (selectableFields.length > MAX_SELECTABLE) causes.push(tooMany(at, selectableFields.length, MAX_SELECTABLE));
  const seen = new Set<string>();
  for (const [i, { jsonPath }] of selectableFields.entries()) {
    const here = `${at}[${i}].jsonPath`;
    const fields = fieldsOf(jsonPath);
    const target = fields?.reduce<Schema | undefined>((node, name) => node && propertyOf(node, name), schema);
    if (seen.has(jsonPath))
      causes.push({ reason: 'FieldValueDuplicate', field: here, message: `Duplicate value: "${jsonPath}"` });
    seen.add(jsonPath);
    if (fields === undefined)
      causes.push(invalidValue(here, jsonPath, 'must be a path of fields, such as .spec.color'));
    else if (fields[0] === 'metadata') causes.push(forbiddenField(here, 'metadata has its own selectors'));
    else if (target === undefined) causes.push(invalidValue(here, jsonPath, 'is no field of the schema'));
    else if (!SELECTABLE_TYPES.includes(target.type ?? ''))
      causes.push(wrongType(here, target.type ?? '', SELECTABLE_TYPES.join(','), target.type ?? ''));
  }
  return causes;
}
