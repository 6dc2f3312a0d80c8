/** Revisions that etcd is asked to forget at a time: others wait behind a step, and not behind a night's history. */
const STEP = 5_000;

/** The revisions to compact at, one after the other, to get from one compacted revision to another. */
export function* compactionSteps(from: number, to: number): Generator<number> {
  for (let step = from + STEP; step < to; step += STEP) yield step;
  yield to;
}
