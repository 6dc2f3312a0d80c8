/**
 * What a user is told when a command does not succeed: one sentence, and where there is one, the next thing to try.
 * Anything thrown that is not a failure (or one `explain` knows) is a bug of ours and says so.
 */
export class Failure extends Error {
  readonly hint: string | undefined;
  readonly exitCode: number;

  constructor(message: string, options: { hint?: string; exitCode?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Failure';
    this.hint = options.hint;
    this.exitCode = options.exitCode ?? 1;
  }
}

/** A command that was written wrong. */
export function usage(message: string, verb: string): Failure {
  return new Failure(message, { hint: `coppice ${verb} --help says how it is used` });
}

/** Ends a command with an exit code and nothing more to say, because it was said already. */
export class Exit extends Error {
  readonly exitCode: number;
  /** It stands although Ctrl-C ended the command: that is how such a one is ended. */
  readonly evenInterrupted: boolean;

  constructor(exitCode: number, { evenInterrupted = false } = {}) {
    super(`exit ${exitCode}`);
    this.name = 'Exit';
    this.exitCode = exitCode;
    this.evenInterrupted = evenInterrupted;
  }
}
