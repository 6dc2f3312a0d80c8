export type UnreachableReason = 'refused' | 'unknown-host' | 'untrusted' | 'timeout' | 'broken';

/** No response could be had. The message is one sentence and names the server. */
export class UnreachableError extends Error {
  readonly reason: UnreachableReason;
  readonly server: string;
  /** Whether the request may have gone out: then it may have been done, too. */
  readonly sent: boolean;

  constructor(reason: UnreachableReason, server: string, message: string, more: { cause?: unknown; sent: boolean }) {
    super(message, { cause: more.cause });
    this.name = 'UnreachableError';
    this.reason = reason;
    this.server = server;
    this.sent = more.sent;
  }
}
