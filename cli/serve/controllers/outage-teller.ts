import type { Transport } from '../../../apiserver/client/transport.ts';
import { UnreachableError, type UnreachableReason } from '../../../apiserver/client/unreachable-error.ts';
import { NoAnswerError } from '../../../resources/ambient/with-deadline.ts';

/** One late answer is none of an outage. */
const LATE_IN_A_ROW = 3;

const WORDS: Readonly<Record<UnreachableReason, string>> = {
  refused: 'nothing listens there',
  'unknown-host': 'there is no such name',
  untrusted: 'its certificate is not trusted',
  timeout: 'no answer',
  broken: 'the connection broke',
};

/** Says once when no server can be reached any more, and once when one is again, however many requests notice. */
export class OutageTeller {
  readonly #say: (line: string) => void;
  #late = 0;
  #away = false;

  constructor(say: (line: string) => void) {
    this.#say = say;
  }

  /** The transport, listened to; `where` names the server, or several. */
  listening(transport: Transport, where: () => string): Transport {
    return async (request) => {
      try {
        const response = await transport(request);
        this.#answered(where());
        return response;
      } catch (error) {
        this.#failed(error, where());
        throw error;
      }
    };
  }

  #answered(where: string): void {
    this.#late = 0;
    if (!this.#away) return;
    this.#away = false;
    this.#say(`reaches ${where} again`);
  }

  #failed(error: unknown, where: string): void {
    if (error instanceof NoAnswerError) {
      this.#late++;
      if (this.#late >= LATE_IN_A_ROW) this.#lost(where, 'no answer');
    }
    // One that broke off may have been an old connection: whoever asks again learns more.
    if (error instanceof UnreachableError && error.reason !== 'broken') this.#lost(where, WORDS[error.reason]);
  }

  #lost(where: string, why: string): void {
    if (this.#away) return;
    this.#away = true;
    this.#say(`cannot reach ${where}: ${why}`);
  }
}
