import { RE2JS } from 're2js';
import type { Spend } from './effort.ts';
import { patternSize } from './pattern-size.ts';
import { PatternTable } from './pattern-table.ts';

/**
 * A compiled pattern whose matching takes time in proportion to the text: Kubernetes' own syntax, without look-around and back-references.
 * What it takes is paid for by `spend` before it is done, where one is given.
 */
export interface SafePattern {
  /** Whether the pattern is found anywhere in the text. */
  test(text: string, spend?: Spend): boolean;
  /** The first match, or undefined. */
  find(text: string, spend?: Spend): string | undefined;
  /** Every match, left to right. */
  findAll(text: string, spend?: Spend): string[];
  /** How many steps its program has: with the length of a text, what the slowest way of matching takes. */
  readonly size: number;
}

/** The steps a pattern may have when it is written out; each takes room and time. */
const MOST_STEPS = 20_000;
/** The steps of all the patterns that are kept compiled. */
const MOST_STEPS_KEPT = 1_000_000;
/** What compiling takes for each step, in steps of effort. */
const EFFORT_A_STEP = 100;
/** What beginning to match takes, in steps of effort. */
const EFFORT_A_MATCH = 300;

interface KeptPattern extends SafePattern {
  /** Gives back what matching has gathered. */
  forget(): void;
}

const kept = new Map<string, KeptPattern>();
let stepsKept = 0;

/** Throws with the reason when the pattern does not compile, or is so long that it would take long to. The same pattern is compiled once. */
export function compilePattern(pattern: string, spend?: Spend): SafePattern {
  const known = kept.get(pattern);
  if (known !== undefined) return known;
  const steps = patternSize(pattern);
  if (steps > MOST_STEPS)
    throw new Error(
      `expression too large: it is ${steps} steps long when written out, at most ${MOST_STEPS} are taken`,
    );
  spend?.(steps * EFFORT_A_STEP);
  const made = compiled(pattern);
  stepsKept += made.size;
  kept.set(pattern, made);
  for (const [oldest, one] of kept) {
    if (stepsKept <= MOST_STEPS_KEPT) break;
    kept.delete(oldest);
    stepsKept -= one.size;
    one.forget();
  }
  return made;
}

function compiled(pattern: string): KeptPattern {
  const regex = RE2JS.compile(pattern);
  const size = regex.programSize();
  let table: PatternTable | undefined = new PatternTable(regex.re2());
  const slow = (characters: number, spend?: Spend) => spend?.(EFFORT_A_MATCH + characters * size);
  return {
    size,
    forget: () => table?.clear(),
    test: (text, spend) => {
      const found = table?.test(text, spend);
      if (found !== undefined) return found;
      table?.clear();
      table = undefined;
      slow(text.length, spend);
      return regex.matcher(text).find();
    },
    find: (text, spend) => {
      slow(text.length, spend);
      const matcher = regex.matcher(text);
      return matcher.find() ? (matcher.group() ?? undefined) : undefined;
    },
    findAll: (text, spend) => {
      const matcher = regex.matcher(text);
      const found: string[] = [];
      // To find the next match all of the rest may have to be read.
      for (let rest = text.length; ; rest = text.length - matcher.end()) {
        slow(rest, spend);
        if (!matcher.find()) return found;
        found.push(matcher.group() ?? '');
      }
    },
  };
}
