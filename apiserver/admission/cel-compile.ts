import type { Environment } from '@marcbachmann/cel-js';
import type { Cause } from '../../resources/meta/api-error.ts';
import { isObject } from '../../resources/meta/object.ts';
import type { Schema, ValidationRule } from '../../resources/meta/schema.ts';
import { invalidValue } from './causes.ts';
import { checkingEnvironment, meteredEnvironment } from './cel-functions.ts';
import type { CelMeter } from './cel-meter.ts';
import { lengthOf, literalPatterns, mentions, meteredRule, withoutPlaces } from './cel-rewrite.ts';
import { CelTypes } from './cel-types.ts';
import { compilePattern } from './safe-pattern.ts';

/** What a rule may read. */
export interface RuleScope {
  readonly self: unknown;
  readonly oldSelf: unknown;
}

export interface CompiledRule {
  /** Reads the previous value, so it has nothing to say about a new one, but where that is optional. */
  readonly readsOld: boolean;
  /** The previous value is an optional one, which a new value has not. */
  readonly optionalOld: boolean;
  readonly reason: string;
  /** Where the cause stands, below the value: `.replicas`. */
  readonly fieldPath: string | undefined;
  evaluate(scope: RuleScope): unknown;
  message(scope: RuleScope): string;
}

/** The rules of a schema and of the schemas in it. Branches without rules are left out. */
export interface NodeRules {
  readonly rules: readonly CompiledRule[];
  /** The schema's type, which messages show in place of the value. */
  readonly shown: string;
  readonly properties: ReadonlyMap<string, NodeRules>;
  readonly items: NodeRules | undefined;
  readonly values: NodeRules | undefined;
  /** Keys by which items of a new and an old list correspond; in other lists they do not. */
  readonly listKeys: readonly string[] | undefined;
}

export class RuleCompiler {
  /** What did not compile. */
  readonly faults: Cause[] = [];
  readonly #checking: Environment;
  readonly #running: Environment;
  /** Where `oldSelf` is optional. */
  readonly #runningOptional: Environment;
  readonly #types: CelTypes;
  readonly #meter: CelMeter;

  constructor(meter: CelMeter) {
    this.#meter = meter;
    this.#checking = checkingEnvironment();
    const running = meteredEnvironment(meter).registerVariable('self', 'dyn');
    this.#running = running.clone().registerVariable('oldSelf', 'dyn');
    this.#runningOptional = running.clone().registerVariable('oldSelf', 'optional<dyn>');
    this.#types = new CelTypes(this.#checking);
  }

  /** A step for each rule. */
  *compile(root: Schema): Generator<undefined, NodeRules> {
    // Copies of the environment are closed to new types: name all types before the first copy.
    this.#types.of(root);
    this.#nameTypes(root);
    return yield* this.#node(root, '', undefined);
  }

  #nameTypes(schema: Schema): void {
    this.#types.of(schema);
    for (const child of childrenOf(schema)) this.#nameTypes(child);
  }

  /** `apart` is the place of the list or map above whose parts do not correspond to those of its previous value. */
  *#node(schema: Schema, place: string, apart: string | undefined): Generator<undefined, NodeRules> {
    const here = place === '' ? 'the object' : place.slice(0, -1);
    const inFields = apart ?? (schema['x-kubernetes-map-type'] === 'atomic' ? here : undefined);
    const inItems = apart ?? (schema['x-kubernetes-list-type'] === 'map' ? undefined : here);
    const properties = new Map<string, NodeRules>();
    for (const [name, child] of Object.entries(schema.properties ?? {})) {
      const node = yield* this.#node(child, `${place}properties[${name}].`, inFields);
      if (isUseful(node)) properties.set(name, node);
    }
    const rules: CompiledRule[] = [];
    for (const [i, rule] of (schema['x-kubernetes-validations'] ?? []).entries()) {
      rules.push(...this.#rule(rule, schema, `${place}x-kubernetes-validations[${i}]`, apart));
      yield;
    }
    const items = schema.items === undefined ? undefined : yield* this.#node(schema.items, `${place}items.`, inItems);
    const values = isObject(schema.additionalProperties)
      ? yield* this.#node(schema.additionalProperties, `${place}additionalProperties.`, inFields)
      : undefined;
    return {
      rules,
      shown: schema.type ?? '',
      properties,
      items: items !== undefined && isUseful(items) ? items : undefined,
      values: values !== undefined && isUseful(values) ? values : undefined,
      listKeys: schema['x-kubernetes-list-type'] === 'map' ? schema['x-kubernetes-list-map-keys'] : undefined,
    };
  }

  #rule(rule: ValidationRule, schema: Schema, place: string, apart: string | undefined): readonly CompiledRule[] {
    const self = this.#types.of(schema);
    const optionalOld = rule.optionalOldSelf === true;
    const types = { self, optionalOld };
    const test = this.#expression(rule.rule, types, 'bool', `${place}.rule`);
    const words =
      rule.messageExpression === undefined
        ? undefined
        : this.#expression(rule.messageExpression, types, 'string', `${place}.messageExpression`);
    if (test === undefined) return [];
    if (test.mentionsOld && apart !== undefined) {
      const why = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${apart}`;
      this.faults.push(invalidValue(`${place}.rule`, rule.rule, why));
    }
    if (!test.mentionsOld && rule.optionalOldSelf !== undefined) {
      const why = 'may not be set if oldSelf is not used in rule';
      this.faults.push(invalidValue(`${place}.optionalOldSelf`, rule.optionalOldSelf, why));
    }
    const fixed = rule.message ?? `failed rule: ${rule.rule.trim()}`;
    return [
      {
        readsOld: test.mentionsOld,
        optionalOld,
        reason: rule.reason ?? 'FieldValueInvalid',
        fieldPath: rule.fieldPath,
        evaluate: test.run,
        message: (scope) => (words === undefined ? fixed : spoken(words.run, scope, fixed)),
      },
    ];
  }

  #expression(text: string, types: ScopeTypes, answer: string, place: string): Expression | undefined {
    try {
      const environment = this.#checking
        .clone()
        .registerVariable('self', types.self)
        .registerVariable('oldSelf', types.optionalOld ? `optional<${types.self}>` : types.self);
      const parsed = environment.parse(text);
      const metered = meteredRule(parsed.ast);
      const mentionsOld = mentions(parsed.ast, 'oldSelf');
      for (const pattern of literalPatterns(parsed.ast)) compilePattern(pattern);
      const checked = parsed.check();
      if (!checked.valid) throw checked.error ?? new Error('the expression does not type-check');
      if (checked.type !== answer && checked.type !== 'dyn') {
        throw new Error(`must evaluate to ${answer}, not ${checked.type}`);
      }
      const runnable = (types.optionalOld ? this.#runningOptional : this.#running).parse(metered);
      withoutPlaces(runnable.ast);
      const steps = lengthOf(runnable.ast);
      const run = (scope: RuleScope): unknown => {
        this.#meter.charge(steps);
        return runnable(scope);
      };
      return { run, mentionsOld };
    } catch (error) {
      const why = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
      this.faults.push(invalidValue(place, text, `compilation failed: ${why}`));
      return undefined;
    }
  }
}

interface ScopeTypes {
  readonly self: string;
  readonly optionalOld: boolean;
}

interface Expression {
  readonly run: (scope: RuleScope) => unknown;
  readonly mentionsOld: boolean;
}

/** A message that fails, or is empty or of several lines, gives way to the fixed one. */
function spoken(run: (scope: RuleScope) => unknown, scope: RuleScope, fixed: string): string {
  try {
    const said = run(scope);
    return typeof said === 'string' && said.trim() !== '' && !said.includes('\n') ? said : fixed;
  } catch {
    return fixed;
  }
}

function isUseful(node: NodeRules): boolean {
  return node.rules.length > 0 || node.properties.size > 0 || node.items !== undefined || node.values !== undefined;
}

function childrenOf(schema: Schema): readonly Schema[] {
  return [
    ...Object.values(schema.properties ?? {}),
    ...(schema.items === undefined ? [] : [schema.items]),
    ...(isObject(schema.additionalProperties) ? [schema.additionalProperties] : []),
  ];
}
