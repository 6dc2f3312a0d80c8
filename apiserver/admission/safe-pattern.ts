import { RE2JS } from 're2js';

/** A compiled pattern whose matching takes time in proportion to the text: Kubernetes' own syntax, without look-around and back-references. */
export interface SafePattern {
  /** Whether the pattern is found anywhere in the text. */
  test(text: string): boolean;
  /** The first match, or undefined. */
  find(text: string): string | undefined;
  /** Every match, left to right. */
  findAll(text: string): string[];
  /** The pattern itself: ajv tells patterns apart by this. */
  toString(): string;
}

/** The repetitions of all of a pattern together: each takes room and time as if it were written out. */
const MOST_REPETITIONS = 5_000;
const PATTERNS_KEPT = 4_096;
const kept = new Map<string, SafePattern>();

/** Throws with the reason when the pattern does not compile, or repeats so much that it would take long to. The same pattern is compiled once. */
export function compilePattern(pattern: string): SafePattern {
  const known = kept.get(pattern);
  if (known !== undefined) return known;
  const made = compiled(pattern);
  const [oldest] = kept.keys();
  if (kept.size >= PATTERNS_KEPT && oldest !== undefined) kept.delete(oldest);
  kept.set(pattern, made);
  return made;
}

function compiled(pattern: string): SafePattern {
  let repetitions = 0;
  for (const [, least, most] of pattern.matchAll(/\{([0-9]+)(?:,([0-9]*))?\}/g)) repetitions += Number(most || least);
  if (repetitions > MOST_REPETITIONS) {
    throw new Error(`expression too large: it repeats ${repetitions} times, at most ${MOST_REPETITIONS} are taken`);
  }
  const compiled = RE2JS.compile(pattern);
  return {
    toString: () => pattern,
    test: (text) => compiled.matcher(text).find(),
    find: (text) => {
      const matcher = compiled.matcher(text);
      return matcher.find() ? (matcher.group() ?? undefined) : undefined;
    },
    findAll: (text) => {
      const matcher = compiled.matcher(text);
      const found: string[] = [];
      while (matcher.find()) found.push(matcher.group() ?? '');
      return found;
    },
  };
}
