import type { Cause } from '../../resources/meta/api-error.ts';
import { encodeJson } from '../../resources/meta/json.ts';
import type { Schema } from '../../resources/meta/schema.ts';
import { compileRulesInSteps, type RuleCheck } from './cel.ts';
import { LongWork } from './long-work.ts';
import { patternFault, patternsIn } from './pattern-faults.ts';
import { tallyOf } from './schema-tally.ts';

/** What came of compiling the patterns and rules of a schema, with what did not compile. */
interface CompiledSchema {
  readonly patternFaults: readonly Cause[];
  readonly ruleFaults: readonly Cause[];
  readonly rules: RuleCheck | undefined;
}

/** A schema with fewer patterns and rules is compiled before anybody could wait for it. */
const SURELY_FEW = 30;
/** The schemas that are kept compiled, and the characters of their texts. */
const MOST_KEPT = 16;
const MOST_CHARACTERS = 16 << 20;

const kept = new Map<string, CompiledSchema>();

/** Compiles a schema, in one go. One that has much in it was compiled once when the same schema is asked for again soon. */
export function compiledSchema(schema: Schema): CompiledSchema {
  const known = keptOf(schema);
  if (known !== undefined) return known;
  const steps = compiling(schema);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** The same; throws LongWork where it would take long, after which it does not. */
export function compiledSoon(schema: Schema): CompiledSchema {
  if (!isMuch(schema)) return compiledSchema(schema);
  const known = keptOf(schema);
  if (known === undefined) throw new LongWork(compiling(schema));
  return known;
}

function keptOf(schema: Schema): CompiledSchema | undefined {
  return isMuch(schema) ? kept.get(encodeJson(schema)) : undefined;
}

function* compiling(schema: Schema): Generator<undefined, CompiledSchema> {
  const patternFaults: Cause[] = [];
  for (const one of patternsIn(schema)) {
    const fault = patternFault(one);
    if (fault !== undefined) patternFaults.push(fault);
    yield;
  }
  const { check, faults } = yield* compileRulesInSteps(schema);
  const made: CompiledSchema = { patternFaults, ruleFaults: faults, rules: check };
  if (isMuch(schema)) keep(encodeJson(schema), made);
  return made;
}

function keep(text: string, made: CompiledSchema): void {
  kept.set(text, made);
  let characters = [...kept.keys()].reduce((sum, { length }) => sum + length, 0);
  for (const oldest of kept.keys()) {
    if (oldest === text || (kept.size <= MOST_KEPT && characters <= MOST_CHARACTERS)) return;
    kept.delete(oldest);
    characters -= oldest.length;
  }
}

/** Whether there is enough to compile in a schema to be worth keeping. */
function isMuch(schema: Schema): boolean {
  const { patterns, rules } = tallyOf(schema);
  return patterns + rules > SURELY_FEW;
}
