import type { Clock } from '../../../resources/ambient/clock.ts';
import type { Source } from './batches.ts';
import { decodeRange, encodeRange, RANGE_PATH } from './range-messages.ts';
import type { Reach } from './reach.ts';
import type { RootWatch } from './root-watch.ts';
import { SharedQuestion } from './shared-question.ts';
import type { SoleRight } from './sole-right.ts';
import { readError } from './store-error.ts';

interface LatestRevisionOptions extends Source {
  readonly clock: Clock;
  readonly root: RootWatch;
  readonly heard: Reach['heard'];
  /** Where only members write. */
  readonly right: SoleRight | undefined;
}

/** The revision of the store at a moment after it was asked for, once the watch has come to it. */
export class LatestRevision {
  readonly #options: LatestRevisionOptions;
  readonly #question: Buffer;
  readonly #shared: SharedQuestion<number>;

  constructor(options: LatestRevisionOptions) {
    this.#options = options;
    this.#question = encodeRange({ keys: options.layout.meta, countOnly: true });
    this.#shared = new SharedQuestion(options.clock, () => this.#present(this.#ask()));
  }

  /** Where it is known without asking etcd: this process is the only one. */
  known(): number | undefined {
    const { right, root } = this.#options;
    const { revision } = root;
    return right?.covers(revision) ? revision : undefined;
  }

  ask(): Promise<number> {
    return this.#shared.answer();
  }

  /** The same, asked once. */
  async probe(signal: AbortSignal): Promise<void> {
    await this.#present(this.#options.connection.askOnce(RANGE_PATH, this.#question, signal), signal);
  }

  #ask(): Promise<Buffer> {
    return this.#options.connection.ask(RANGE_PATH, this.#question);
  }

  async #present(answer: Promise<Buffer>, signal?: AbortSignal): Promise<number> {
    const { revisions, root, heard } = this.#options;
    const bytes = await answer.catch((error: unknown) => {
      throw readError(error);
    });
    const revision = revisions.ours(decodeRange(bytes).revision);
    await root.reached(revision, signal);
    heard();
    return revision;
  }
}
