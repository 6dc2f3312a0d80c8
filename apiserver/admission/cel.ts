import type { Cause } from '../../resources/meta/api-error.ts';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import type { Schema } from '../../resources/meta/schema.ts';
import { duplicateValue, forbiddenField, invalidValue, requiredValue } from './causes.ts';
import { type CompiledRule, type NodeRules, RuleCompiler } from './cel-compile.ts';
import { CelMeter, OUT_OF_BUDGET, RULE_BUDGET } from './cel-meter.ts';
import { celName, celValue } from './cel-values.ts';
import { childPath } from './field-path.ts';
import { KindCompileError } from './kind-compile-error.ts';

/** What the rules of a schema say about an object, and about its change when there is a previous one. */
export type RuleCheck = (object: JsonObject, previous?: JsonObject) => Cause[];

export interface RuleLimits {
  /** Steps all the rules of one check may take together. */
  readonly budget?: number;
}

/** Compiles every `x-kubernetes-validations` of a schema; undefined when there is none. Throws KindCompileError naming each rule that does not compile. */
export function compileRules(schema: Schema, limits: RuleLimits = {}): RuleCheck | undefined {
  if (!hasRules(schema)) return undefined;
  const root = withTypeMeta(schema);
  const meter = new CelMeter();
  const compiler = new RuleCompiler(meter);
  const rules = compiler.compile(root);
  if (compiler.faults.length > 0) throw new KindCompileError(compiler.faults);
  return (object, previous) => {
    meter.refill(limits.budget ?? RULE_BUDGET);
    const run = new Run(meter);
    const before = previous === undefined ? undefined : celValue(visible(previous), root);
    run.visit(rules, celValue(visible(object), root), before, '');
    return run.causes;
  };
}

function hasRules(schema: Schema): boolean {
  return (
    (schema['x-kubernetes-validations']?.length ?? 0) > 0 ||
    Object.values(schema.properties ?? {}).some(hasRules) ||
    (schema.items !== undefined && hasRules(schema.items)) ||
    (isObject(schema.additionalProperties) && hasRules(schema.additionalProperties))
  );
}

/** At the root, and only there, rules also see the object's type and name. */
function withTypeMeta(schema: Schema): Schema {
  const text: Schema = { type: 'string' };
  const metadata: Schema = { type: 'object', properties: { name: text, generateName: text } };
  return { ...schema, type: 'object', properties: { ...schema.properties, apiVersion: text, kind: text, metadata } };
}

/** Of metadata rules see the names only, and a record of owners would be long to convert. */
function visible(object: JsonObject): JsonObject {
  if (!isObject(object.metadata)) return object;
  const names = Object.entries(object.metadata).filter(([field]) => field === 'name' || field === 'generateName');
  return { ...object, metadata: Object.fromEntries(names) };
}

/** One check of one object: walks the values beside the compiled rules, the previous values alongside where they correspond. */
class Run {
  readonly causes: Cause[] = [];
  readonly #meter: CelMeter;

  constructor(meter: CelMeter) {
    this.#meter = meter;
  }

  visit(node: NodeRules, value: unknown, previous: unknown, path: string): void {
    if (value === null || value === undefined) return;
    for (const rule of node.rules) {
      if (this.#meter.exhausted) return;
      if (rule.onChange && previous === undefined) continue;
      this.#judge(rule, node, value, previous, path);
    }
    if (Array.isArray(value)) this.#visitItems(node, value, previous, path);
    else if (isObject(value)) this.#visitFields(node, value, previous, path);
  }

  #visitItems(node: NodeRules, list: readonly unknown[], previous: unknown, path: string): void {
    const { items } = node;
    if (items === undefined) return;
    const before = Array.isArray(previous) && node.listKeys !== undefined ? byKeys(previous, node.listKeys) : undefined;
    for (const [i, item] of list.entries()) {
      const match = before?.get(keyText(item, node.listKeys ?? []));
      this.visit(items, item, match, `${path}[${i}]`);
    }
  }

  #visitFields(node: NodeRules, fields: JsonObject, previous: unknown, path: string): void {
    for (const [name, child] of node.properties) {
      const key = celName(name) ?? name;
      if (key in fields)
        this.visit(child, fields[key], isObject(previous) ? previous[key] : undefined, childPath(path, name));
    }
    const { values } = node;
    if (values === undefined) return;
    for (const [name, field] of Object.entries(fields)) {
      this.visit(values, field, isObject(previous) ? previous[name] : undefined, childPath(path, name));
    }
  }

  #judge(rule: CompiledRule, node: NodeRules, self: unknown, oldSelf: unknown, path: string): void {
    const at = path + (rule.fieldPath ?? '');
    const field = path === '' ? at.replace(/^\./, '') : at;
    const where = field === '' ? '<nil>' : field;
    try {
      if (rule.evaluate({ self, oldSelf }) === true && !this.#meter.exhausted) return;
    } catch (error) {
      if (!this.#meter.exhausted) {
        const why = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
        this.causes.push(invalidValue(where, node.shown, `${why} evaluating rule: ${rule.message({ self, oldSelf })}`));
        return;
      }
    }
    if (this.#meter.exhausted) this.causes.push(invalidValue(where, node.shown, OUT_OF_BUDGET));
    else this.causes.push(failure(rule, where, node.shown, rule.message({ self, oldSelf })));
  }
}

function failure(rule: CompiledRule, field: string, shown: string, message: string): Cause {
  switch (rule.reason) {
    case 'FieldValueForbidden':
      return forbiddenField(field, message);
    case 'FieldValueRequired':
      return requiredValue(field, message);
    case 'FieldValueDuplicate':
      return duplicateValue(field, shown);
    default:
      return invalidValue(field, shown, message);
  }
}

function byKeys(list: readonly unknown[], keys: readonly string[]): Map<string, unknown> {
  return new Map(list.map((item) => [keyText(item, keys), item]));
}

function keyText(item: unknown, keys: readonly string[]): string {
  return JSON.stringify(keys.map((key) => (isObject(item) ? String(item[celName(key) ?? key]) : '')));
}
