import type { RE2JS } from 're2js';
import type { Spend } from './effort.ts';

type Program = ReturnType<RE2JS['re2']>;

/** A state of matching: which steps of the program may be next. `next` answers by classes of characters, null where it is not known yet. */
interface State {
  readonly next: readonly (State | null)[] | null;
  readonly isMatch: boolean;
}

/** The room one table may take, in bytes. */
const TABLE_BYTES = 512 << 10;
/** The room all tables may take together. */
const ALL_BYTES = 64 << 20;
const EFFORT_A_TEST = 30;
/** What making one more state takes for each step of the program. */
const EFFORT_A_STEP = 2;

const ANYWHERE = 0;
const END_OF_TEXT = -1;
/** At its begin a text has nothing before it. */
const BEGIN = { context: () => 5 };

const filled = new Set<PatternTable>();
let bytes = 0;

/**
 * The states a pattern runs through, made as texts lead to them: a character costs one step from then on, which is the fastest a pattern can be
 * matched safely. A pattern with more states than there is room for has none of it.
 */
export class PatternTable {
  readonly #program: Program;
  readonly #size: number;
  #used = 0;

  constructor(program: Program) {
    this.#program = program;
    this.#size = program.numberOfInstructions();
  }

  /** Whether the pattern is found in the text; undefined when that takes too many states. */
  test(text: string, spend?: Spend): boolean | undefined {
    spend?.(EFFORT_A_TEST + text.length);
    try {
      return this.#run(text, spend);
    } finally {
      this.#account();
    }
  }

  /** Gives the room back. */
  clear(): void {
    bytes -= this.#used;
    filled.delete(this);
    this.#empty();
  }

  #run(text: string, spend?: Spend): boolean | undefined {
    const dfa = this.#dfa();
    const { latin1Class, numClasses } = dfa;
    let state: State | null = dfa.start(BEGIN, 0);
    for (let i = 0; i < text.length; ) {
      if (state === null) return undefined;
      const rune = text.codePointAt(i) ?? 0;
      const cls = (rune < 256 ? latin1Class[rune] : dfa.runeClass(rune)) ?? 0;
      state = state.next?.[cls] ?? this.#step(state, cls, rune, spend);
      if (state?.isMatch === true) return true;
      i += rune > 0xffff ? 2 : 1;
    }
    const last = state && this.#step(state, numClasses, END_OF_TEXT, spend);
    return last?.isMatch;
  }

  #step(state: State, cls: number, rune: number, spend?: Spend): State | null {
    const known = state.next?.[cls];
    if (known !== undefined && known !== null) return known;
    spend?.(this.#size * EFFORT_A_STEP);
    return this.#dfa().step(state, cls, rune, ANYWHERE);
  }

  #dfa(): Program['dfa'] {
    const { dfa } = this.#program;
    if (dfa.stateBudget !== TABLE_BYTES) {
      dfa.stateBudget = TABLE_BYTES;
      dfa.memBudget = TABLE_BYTES;
    }
    return dfa;
  }

  #account(): void {
    const { dfa } = this.#program;
    const used = dfa.stateBudget - dfa.memBudget;
    if (used === this.#used) return;
    bytes += used - this.#used;
    this.#used = used;
    filled.add(this);
    if (bytes <= ALL_BYTES) return;
    const all = [...filled];
    filled.clear();
    bytes = 0;
    for (const table of all) table.#empty();
  }

  #empty(): void {
    this.#program.dfa.clearCache();
    this.#used = 0;
  }
}
