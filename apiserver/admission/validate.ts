import type { Cause } from '../../resources/meta/api-error.ts';
import type { Kind } from '../../resources/meta/define-kind.ts';
import type { JsonObject, KubeObject } from '../../resources/meta/object.ts';
import type { Schema } from '../../resources/meta/schema.ts';
import { compiledSchema } from './compiled-schema.ts';
import { KindCompileError } from './kind-compile-error.ts';
import { checkListTypes } from './list-types.ts';
import { validateMetadata } from './metadata.ts';
import { checkScalePaths } from './scale-paths.ts';
import { compileSchemaCheck, schemaCheck } from './schema-check.ts';
import { Unchanged } from './unchanged.ts';

/** What is wrong with an object, by field; nothing when it is valid. `previous` is there on updates. */
export type KindValidator = (object: KubeObject, previous?: KubeObject) => Cause[];

/** What a rule needs to know is missing once one of these was found: shape and presence. */
const BLOCKING: ReadonlySet<string> = new Set([
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

const NOT_CHECKED: Cause = {
  reason: 'FieldValueInvalid',
  field: '<nil>',
  message:
    'Invalid value: "null": some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
};

/**
 * Compiles all that is asked of a kind's objects: metadata, types and bounds, list keys, rules, and the paths of the
 * scale subresource. An update is not held to what was wrong already and stays as it was, so that a schema can be made stricter. Throws
 * with the place of the fault when a pattern or rule does not compile.
 */
export function compileKindValidator(
  kind: Pick<Kind, 'schema' | 'scale' | 'namespaced' | 'nameRule' | 'origin'> &
    Partial<Pick<Kind, 'metadata' | 'rules' | 'struct'>>,
): KindValidator {
  const { patternFaults, ruleFaults, rules } = compiledSchema(kind.schema);
  const faults = patternFaults.length > 0 ? patternFaults : ruleFaults;
  if (faults.length > 0) throw new KindCompileError(faults);
  const checkSchema = schemaCheck(kind.schema);
  const checkNames = kind.metadata === undefined ? undefined : compileSchemaCheck(kind.metadata);
  return (object, previous) => {
    const body = bodyOf(object);
    const before = previous === undefined || kind.origin === 'core' ? undefined : bodyOf(previous);
    const unchanged = before && new Unchanged(body, before, kind.schema);
    const causes = [
      ...validateMetadata(kind, object),
      ...(checkNames?.({ metadata: { name: object.metadata.name } }) ?? []),
      ...checkSchema(body, unchanged),
      // Kubernetes' own kinds may hold an item twice; only merging minds their keys.
      ...(kind.struct === true ? [] : listCauses(body, before, kind.schema)),
    ];
    if (rules !== undefined) {
      if (causes.some((cause) => BLOCKING.has(cause.reason))) causes.push(NOT_CHECKED);
      else causes.push(...rules(object, previous, unchanged));
    }
    causes.push(...checkScalePaths(object, kind.scale));
    if (causes.length === 0) causes.push(...(kind.rules?.causes?.(object, previous) ?? []));
    return causes;
  };
}

/** Lists that had items twice already may keep them. */
function listCauses(body: JsonObject, before: JsonObject | undefined, schema: Schema): Cause[] {
  const causes = checkListTypes(body, schema);
  return causes.length > 0 && before !== undefined && checkListTypes(before, schema).length > 0 ? [] : causes;
}

/** All a kind's schema speaks of. */
function bodyOf(object: KubeObject): JsonObject {
  const { apiVersion: _, kind: __, metadata: ___, ...body } = object;
  return body;
}
