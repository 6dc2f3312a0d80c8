export type UnreachableReason = 'refused' | 'unknown-host' | 'untrusted' | 'timeout' | 'broken';

/** No response could be had. The message is one sentence and names the server. */
export class UnreachableError extends Error {
  readonly reason: UnreachableReason;
  readonly server: string;

  constructor(reason: UnreachableReason, server: string, message: string, cause: unknown) {
    super(message, { cause });
    this.name = 'UnreachableError';
    this.reason = reason;
    this.server = server;
  }
}
