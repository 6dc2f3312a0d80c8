import { Optional } from '@marcbachmann/cel-js';
import type { Cause } from '../../resources/meta/api-error.ts';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import type { Schema } from '../../resources/meta/schema.ts';
import { duplicateValue, forbiddenField, invalidValue, requiredValue } from './causes.ts';
import { type CompiledRule, type NodeRules, RuleCompiler, type RuleScope } from './cel-compile.ts';
import { CelMeter, OUT_OF_BUDGET, RULE_BUDGET } from './cel-meter.ts';
import { celName, celValue } from './cel-values.ts';
import { childPath } from './field-path.ts';
import { tallyOf } from './schema-tally.ts';
import type { Steps, Unchanged } from './unchanged.ts';

/** What the rules of a schema say about an object, and about its change when there is a previous one; of what is `unchanged` then, only the latter. */
export type RuleCheck = (object: JsonObject, previous?: JsonObject, unchanged?: Unchanged) => Cause[];

interface RuleLimits {
  /** Steps all the rules of one check may take together. */
  readonly budget?: number;
}

/** What came of compiling the rules of a schema: a check when there are rules, and what did not compile. */
interface CompiledRules {
  readonly check: RuleCheck | undefined;
  readonly faults: readonly Cause[];
}

/** Compiles every `x-kubernetes-validations` of a schema, a rule a step. */
export function* compileRulesInSteps(schema: Schema, limits: RuleLimits = {}): Generator<undefined, CompiledRules> {
  if (tallyOf(schema).rules === 0) return { check: undefined, faults: [] };
  const root = withTypeMeta(schema);
  const meter = new CelMeter();
  const compiler = new RuleCompiler(meter);
  const rules = yield* compiler.compile(root);
  const looksBack = readsOld(rules);
  const check: RuleCheck = (object, previous, unchanged) => {
    meter.refill(limits.budget ?? RULE_BUDGET);
    const run = new Run(meter, unchanged);
    const before = previous === undefined || !looksBack ? undefined : celValue(visible(previous), root);
    withoutStacks(() => run.visit(rules, celValue(visible(object), root), before, NOWHERE));
    return run.causes;
  };
  return { check, faults: compiler.faults };
}

/** Whether any rule has a use for what was before. */
function readsOld({ rules, properties, items, values }: NodeRules): boolean {
  return (
    rules.some((rule) => rule.readsOld) ||
    [...properties.values(), items, values].some((part) => part !== undefined && readsOld(part))
  );
}

/** Errors that quantifiers swallow are made by the thousand, and nobody reads where they came from. */
function withoutStacks(work: () => void): void {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    work();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
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
  const { name, generateName } = object.metadata;
  const names = {
    ...(name === undefined ? {} : { name }),
    ...(generateName === undefined ? {} : { generateName }),
  };
  return { ...object, metadata: names };
}

/** A value within the object that is checked: its path as messages tell it, and its last step. */
interface Place {
  readonly path: string;
  readonly step: string | number;
  readonly above: Place | undefined;
}

const NOWHERE: Place = { path: '', step: '', above: undefined };

function stepsTo(place: Place): Steps {
  const steps: (string | number)[] = [];
  for (let at = place; at.above !== undefined; at = at.above) steps.unshift(at.step);
  return steps;
}

/** One check of one object: walks the values beside the compiled rules, the previous values alongside where they correspond. */
class Run {
  readonly causes: Cause[] = [];
  readonly #meter: CelMeter;
  readonly #unchanged: Unchanged | undefined;

  constructor(meter: CelMeter, unchanged: Unchanged | undefined) {
    this.#meter = meter;
    this.#unchanged = unchanged;
  }

  visit(node: NodeRules, value: unknown, previous: unknown, place: Place): void {
    if (value === null || value === undefined) return;
    for (const rule of node.rules) {
      if (this.#meter.exhausted) return;
      if (rule.readsOld && !rule.optionalOld && previous === undefined) continue;
      this.#judge(rule, node, value, previous, place);
    }
    if (Array.isArray(value)) this.#visitItems(node, value, previous, place);
    else if (isObject(value)) this.#visitFields(node, value, previous, place);
  }

  #visitItems(node: NodeRules, list: readonly unknown[], previous: unknown, above: Place): void {
    const { items } = node;
    if (items === undefined) return;
    const before = Array.isArray(previous) && node.listKeys !== undefined ? byKeys(previous, node.listKeys) : undefined;
    for (const [i, item] of list.entries()) {
      const match = before?.get(keyText(item, node.listKeys ?? []));
      this.visit(items, item, match, { path: `${above.path}[${i}]`, step: i, above });
    }
  }

  #visitFields(node: NodeRules, fields: JsonObject, previous: unknown, above: Place): void {
    const at = (name: string): Place => ({ path: childPath(above.path, name), step: name, above });
    for (const [name, child] of node.properties) {
      const key = celName(name) ?? name;
      if (key in fields) this.visit(child, fields[key], isObject(previous) ? previous[key] : undefined, at(name));
    }
    const { values } = node;
    if (values === undefined) return;
    for (const [name, field] of Object.entries(fields)) {
      this.visit(values, field, isObject(previous) ? previous[name] : undefined, at(name));
    }
  }

  #judge(rule: CompiledRule, node: NodeRules, self: unknown, previous: unknown, place: Place): void {
    const scope = { self, oldSelf: rule.optionalOld ? Optional.of(previous) : previous };
    let failed: unknown;
    try {
      if (rule.evaluate(scope) === true && !this.#meter.exhausted) return;
    } catch (error) {
      failed = error;
    }
    const field = placeOf(rule, place);
    if (this.#meter.exhausted) this.causes.push(invalidValue(field, node.shown, OUT_OF_BUDGET));
    // What is wrong with a value that is as it was is let through, but not what is wrong with the change of it.
    else if (rule.readsOld || this.#unchanged?.has(stepsTo(place)) !== true)
      this.causes.push(judgement(rule, field, node.shown, scope, failed));
  }
}

function placeOf({ fieldPath = '' }: CompiledRule, { path }: Place): string {
  const field = path === '' ? fieldPath.replace(/^\./, '') : path + fieldPath;
  return field === '' ? '<nil>' : field;
}

function judgement(rule: CompiledRule, field: string, shown: string, scope: RuleScope, failed: unknown): Cause {
  const message = rule.message(scope);
  if (failed === undefined) return failure(rule, field, shown, message);
  const why = failed instanceof Error ? (failed.message.split('\n')[0] ?? '') : String(failed);
  return invalidValue(field, shown, `${why} evaluating rule: ${message}`);
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
