import type { Cause } from '../../resources/meta/api-error.ts';
import type { Schema } from '../../resources/meta/schema.ts';
import { invalidValue } from './causes.ts';
import { compilePattern } from './safe-pattern.ts';
import { partsOf } from './schema-parts.ts';
import { tallyOf } from './schema-tally.ts';

/** A pattern and its place in a schema: `properties[a].items.pattern`. */
interface PlacedPattern {
  readonly place: string;
  readonly pattern: string;
}

/** Every pattern of a schema, also those of conditions. */
export function* patternsIn(schema: Schema): Generator<PlacedPattern> {
  if (tallyOf(schema).patterns > 0) yield* within(schema, '');
}

function* within(schema: Schema, place: string): Generator<PlacedPattern> {
  if (schema.pattern !== undefined) yield { place: `${place}pattern`, pattern: schema.pattern };
  for (const [at, part] of partsOf(schema, place)) yield* within(part, at);
}

/** What is wrong with a pattern that does not compile. */
export function patternFault({ place, pattern }: PlacedPattern): Cause | undefined {
  try {
    compilePattern(pattern);
    return undefined;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return invalidValue(place, pattern, `must be a valid regular expression, but isn't: ${why}`);
  }
}

/** Patterns of a schema that do not compile, each with its place. */
export function patternFaults(schema: Schema): Cause[] {
  return [...patternsIn(schema)].flatMap((one) => patternFault(one) ?? []);
}
