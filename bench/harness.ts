/**
 * How figures are taken: ours and a control in turn, round after round on the same machine, and medians of both. A control that differs by
 * more than three times between its own rounds says that the machine was busy with something else: the run is void and repeated.
 */

interface Figures {
  readonly ours: number;
  readonly control: number | undefined;
}

/** What a goal asks of the figures. */
interface Mark {
  /** As it is written down, e.g. `≤ 250 ms`. */
  readonly text: string;
  readonly isMet: (figures: Figures) => boolean;
}

/** One thing measured, with what it is held against. */
export interface Contest {
  /** The number of the goal, or a word where it has none. */
  readonly goal: string;
  readonly title: string;
  readonly unit: string;
  readonly ours: (round: number) => Promise<number>;
  /** What the control is, and how to take it. */
  readonly control?: { readonly title: string; readonly take: (round: number) => Promise<number> };
  readonly must?: Mark;
  readonly great?: Mark;
  /** Of something that takes minutes: how often it is taken, instead of as often as all else. */
  readonly rounds?: number;
}

export interface Result {
  readonly goal: string;
  readonly title: string;
  readonly unit: string;
  readonly controlTitle: string | undefined;
  /** Medians. */
  readonly figures: Figures;
  /** `ours / control`. */
  readonly ratio: number | undefined;
  readonly rounds: { readonly ours: readonly number[]; readonly control: readonly number[] };
  /** Runs thrown away before this one. */
  readonly voided: number;
  /** The last run was void too: its figures say nothing. */
  readonly isVoid: boolean;
  readonly must: Verdict | undefined;
  readonly great: Verdict | undefined;
}

export interface Verdict {
  readonly text: string;
  readonly met: boolean;
}

interface MeasureOptions {
  readonly rounds: number;
  /** Runs before a void one is given as it is. */
  readonly runs: number;
}

/** Fewer rounds give no median worth having. */
export const MIN_ROUNDS = 5;
const VOID_SPREAD = 3;

/** Takes a contest: control and ours in turn, the first to go alternating. */
export async function measure(contest: Contest, { rounds, runs }: MeasureOptions): Promise<Result> {
  for (let voided = 0; ; voided++) {
    const taken = await takeTurns(contest, contest.rounds ?? rounds);
    const isVoid = isVoidRun(taken.control);
    if (isVoid && voided + 1 < runs) continue;
    const control = taken.control.length === 0 ? undefined : median(taken.control);
    const figures = { ours: median(taken.ours), control };
    return {
      goal: contest.goal,
      title: contest.title,
      unit: contest.unit,
      controlTitle: contest.control?.title,
      figures,
      ratio: control === undefined ? undefined : figures.ours / control,
      rounds: taken,
      voided,
      isVoid,
      must: verdict(contest.must, figures),
      great: verdict(contest.great, figures),
    };
  }
}

async function takeTurns({ ours, control }: Contest, rounds: number) {
  const taken: { ours: number[]; control: number[] } = { ours: [], control: [] };
  for (let round = 0; round < rounds; round++) {
    const turns = [
      async () => void (control !== undefined && taken.control.push(await control.take(round))),
      async () => void taken.ours.push(await ours(round)),
    ];
    if (round % 2 === 1) turns.reverse();
    for (const turn of turns) await turn();
  }
  return taken;
}

function verdict(mark: Mark | undefined, figures: Figures): Verdict | undefined {
  return mark === undefined ? undefined : { text: mark.text, met: mark.isMet(figures) };
}

/** Whether the control's own rounds lie too far apart. A goal without a control is never void. */
export function isVoidRun(control: readonly number[]): boolean {
  return control.length > 0 && Math.max(...control) / Math.min(...control) > VOID_SPREAD;
}

/** The middle one; of an even number the mean of the two in the middle. Throws for none. */
export function median(numbers: readonly number[]): number {
  return (
    (percentile(numbers, 0.5) +
      -percentile(
        numbers.map((n) => -n),
        0.5,
      )) /
    2
  );
}

/** The smallest number that at least `part` (0 to 1) of them do not exceed. Throws for none. */
export function percentile(numbers: readonly number[], part: number): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  const found = sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)];
  if (found === undefined) throw new RangeError('there is no median of no numbers');
  return found;
}

export const atMost = (limit: number, unit: string): Mark => ({
  text: `≤ ${limit} ${unit}`,
  isMet: ({ ours }) => ours <= limit,
});
export const exactly = (value: number): Mark => ({ text: `exactly ${value}`, isMet: ({ ours }) => ours === value });
export const controlPlus = (ms: number): Mark => ({
  text: `≤ control + ${ms} ms`,
  isMet: ({ ours, control }) => control !== undefined && ours <= control + ms,
});
export const ratioAtMost = (limit: number): Mark => ({
  text: `≤ ${limit}x`,
  isMet: ({ ours, control }) => control !== undefined && ours / control <= limit,
});
export const ratioAtLeast = (limit: number): Mark => ({
  text: `≥ ${limit}x`,
  isMet: ({ ours, control }) => control !== undefined && ours / control >= limit,
});
