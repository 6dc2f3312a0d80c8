import type { Cause } from '../../resources/meta/api-error.ts';
import { isObject } from '../../resources/meta/object.ts';
import type { Schema, ValidationRule } from '../../resources/meta/schema.ts';
import { invalidValue, requiredValue, unsupportedValue } from '../admission/causes.ts';
import { propertyOf } from '../admission/structural.ts';

const REASONS = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired'];

/** What is wrong with how the rules of a schema are written; whether they compile is another matter. */
export function ruleCauses(schema: Schema, place: string): Cause[] {
  return (schema['x-kubernetes-validations'] ?? []).flatMap((rule, i) => {
    const at = `${place}.x-kubernetes-validations[${i}]`;
    const causes: Cause[] = [];
    if (isBlank(rule.rule)) causes.push(requiredValue(`${at}.rule`, 'a rule needs an expression'));
    causes.push(...messageCauses(rule, at));
    if (rule.reason !== undefined && !REASONS.includes(rule.reason)) {
      causes.push(unsupportedValue(`${at}.reason`, rule.reason, REASONS));
    }
    if (rule.fieldPath !== undefined && rule.fieldPath !== '' && !leadsTo(schema, rule.fieldPath)) {
      const why = 'must be the path of a field below, such as .spec.replicas';
      causes.push(invalidValue(`${at}.fieldPath`, rule.fieldPath, why));
    }
    return causes;
  });
}

const isBlank = (text: unknown): boolean => typeof text !== 'string' || text.trim() === '';
const hasLines = (text: string): boolean => /[\n\r]/.test(text);

function messageCauses({ rule, message, messageExpression }: ValidationRule, place: string): Cause[] {
  const causes: Cause[] = [];
  if (message !== undefined && message !== '' && (isBlank(message) || hasLines(message.trim()))) {
    causes.push(invalidValue(`${place}.message`, message, 'must be one line that says something'));
  }
  if (typeof rule === 'string' && hasLines(rule.trim()) && isBlank(message ?? '')) {
    causes.push(requiredValue(`${place}.message`, 'a rule of several lines needs a message'));
  }
  if (messageExpression !== undefined && messageExpression !== '' && isBlank(messageExpression)) {
    causes.push(requiredValue(`${place}.messageExpression`, 'must say something where it is given'));
  }
  return causes;
}

/** Whether a path such as `.spec.ports` or `['a-b'].c` is one of fields that the schema knows. */
function leadsTo(schema: Schema, path: string): boolean {
  if (!/^(?:\.[^.[\]\s]+|\['[^']+'\])+$/.test(path)) return false;
  let at: Schema | undefined = schema;
  for (const [, plain, quoted] of path.matchAll(/\.([^.[\]]+)|\['([^']+)'\]/g)) {
    at = at && fieldOf(at, plain ?? quoted ?? '');
  }
  return at !== undefined;
}

function fieldOf(schema: Schema, name: string): Schema | undefined {
  return propertyOf(schema, name) ?? (isObject(schema.additionalProperties) ? schema.additionalProperties : undefined);
}
