/** A moment in the history of a store. */
export interface HistoryMark {
  readonly revision: number;
  /** What the store had published by then. */
  readonly published: number;
  readonly atMs: number;
}

interface HistoryLimits {
  /** History that is older goes. */
  readonly mostMs: number;
  /** History that is younger stays, however much it is: somebody is still paging through a list. */
  readonly leastMs: number;
}

/** A mark is made this often while anything is written. */
const EVERY_MS = 60_000;
/** And whenever so much was written: how finely history can be cut by bytes. */
const EVERY_BYTES = 4 << 20;

/** Remembers what a store's history was at moments past, to say where it may be cut. */
export class HistoryMarks {
  readonly #limits: HistoryLimits;
  /** Oldest first; the first is where history was last cut. */
  #marks: HistoryMark[] = [];

  constructor(limits: HistoryLimits) {
    this.#limits = limits;
  }

  /** How many bytes were published since the oldest mark: about what history has grown to. */
  grown(now: HistoryMark): number {
    return now.published - (this.#marks[0]?.published ?? now.published);
  }

  /** Notes the present, if it is time for that or much was written. */
  note(now: HistoryMark): void {
    const last = this.#marks.at(-1);
    if (last !== undefined && last.revision === now.revision) return;
    const due = last === undefined || now.atMs - last.atMs >= EVERY_MS || now.published - last.published >= EVERY_BYTES;
    if (due) this.#marks.push(now);
  }

  /** The newest mark that history may be cut at: it is old enough, or what came since is more than `bytes`. Older marks are forgotten. */
  cut(now: HistoryMark, bytes: number): HistoryMark | undefined {
    const { mostMs, leastMs } = this.#limits;
    const at = this.#marks.findLastIndex((mark) => {
      const ageMs = now.atMs - mark.atMs;
      return ageMs >= mostMs || (ageMs >= leastMs && now.published - mark.published > bytes);
    });
    const mark = this.#marks[at];
    if (at > 0) this.#marks = this.#marks.slice(at);
    return mark;
  }
}
