import type { Environment } from '@marcbachmann/cel-js';
import type { Cause } from '../../resources/meta/api-error.ts';
import { isObject } from '../../resources/meta/object.ts';
import type { Schema, ValidationRule } from '../../resources/meta/schema.ts';
import { invalidValue } from './causes.ts';
import { checkingEnvironment, meteredEnvironment } from './cel-functions.ts';
import type { CelMeter } from './cel-meter.ts';
import { literalPatterns, mentions, meteredRule } from './cel-rewrite.ts';
import { CelTypes } from './cel-types.ts';
import { compilePattern } from './safe-pattern.ts';

/** What a rule may read. */
export interface RuleScope {
  readonly self: unknown;
  readonly oldSelf: unknown;
}

export interface CompiledRule {
  /** Reads the previous value, so it has nothing to say about a new one. */
  readonly onChange: boolean;
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
  readonly #types: CelTypes;

  constructor(meter: CelMeter) {
    this.#checking = checkingEnvironment();
    this.#running = meteredEnvironment(meter).registerVariable('self', 'dyn').registerVariable('oldSelf', 'dyn');
    this.#types = new CelTypes(this.#checking);
  }

  compile(root: Schema): NodeRules {
    // Copies of the environment are closed to new types: name all types before the first copy.
    this.#types.of(root);
    this.#nameTypes(root);
    return this.#node(root, '');
  }

  #nameTypes(schema: Schema): void {
    this.#types.of(schema);
    for (const child of childrenOf(schema)) this.#nameTypes(child);
  }

  #node(schema: Schema, place: string): NodeRules {
    const properties = new Map<string, NodeRules>();
    for (const [name, child] of Object.entries(schema.properties ?? {})) {
      const node = this.#node(child, `${place}properties[${name}].`);
      if (isUseful(node)) properties.set(name, node);
    }
    const rules = (schema['x-kubernetes-validations'] ?? []).flatMap((rule, i) =>
      this.#rule(rule, schema, `${place}x-kubernetes-validations[${i}]`),
    );
    const items = schema.items === undefined ? undefined : this.#node(schema.items, `${place}items.`);
    const values = isObject(schema.additionalProperties)
      ? this.#node(schema.additionalProperties, `${place}additionalProperties.`)
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

  #rule(rule: ValidationRule, schema: Schema, place: string): readonly CompiledRule[] {
    const type = this.#types.of(schema);
    const test = this.#expression(rule.rule, type, 'bool', `${place}.rule`);
    const words =
      rule.messageExpression === undefined
        ? undefined
        : this.#expression(rule.messageExpression, type, 'string', `${place}.messageExpression`);
    if (test === undefined) return [];
    const fixed = rule.message ?? `failed rule: ${rule.rule.trim()}`;
    return [
      {
        onChange: test.mentionsOld,
        reason: rule.reason ?? 'FieldValueInvalid',
        fieldPath: rule.fieldPath,
        evaluate: test.run,
        message: (scope) => (words === undefined ? fixed : spoken(words.run, scope, fixed)),
      },
    ];
  }

  #expression(text: string, type: string, answer: string, place: string): Expression | undefined {
    try {
      const environment = this.#checking.clone().registerVariable('self', type).registerVariable('oldSelf', type);
      const parsed = environment.parse(text);
      const metered = meteredRule(parsed.ast);
      const mentionsOld = mentions(parsed.ast, 'oldSelf');
      for (const pattern of literalPatterns(parsed.ast)) compilePattern(pattern);
      const checked = parsed.check();
      if (!checked.valid) throw checked.error ?? new Error('the expression does not type-check');
      if (checked.type !== answer && checked.type !== 'dyn') {
        throw new Error(`must evaluate to ${answer}, not ${checked.type}`);
      }
      return { run: this.#running.parse(metered), mentionsOld };
    } catch (error) {
      const why = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
      this.faults.push(invalidValue(place, text, `compilation failed: ${why}`));
      return undefined;
    }
  }
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
