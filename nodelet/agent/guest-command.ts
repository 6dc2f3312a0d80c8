import { DriverError, type GuestProcess } from '../drivers/driver.ts';
import { CreditedStream } from './credited-stream.ts';
import {
  AgentFrame,
  decodeCredit,
  decodeError,
  decodeExit,
  ErrorReason,
  encodeCredit,
  encodeSize,
  type Frame,
  HostFrame,
  ProtocolError,
  STREAM_WINDOW,
  Stream,
  stdinPayloads,
} from './protocol.ts';

/** What a command needs of its session. */
interface CommandLink {
  send(type: HostFrame, payload?: Uint8Array): void;
  /** Resolves when the socket takes more, or at once; also when the session ends. */
  writable(): Promise<void>;
  /** The command's last frame has come. */
  over(): void;
}

type ExitStatus = Awaited<GuestProcess['exit']>;

/** One command in the guest, seen from the host: the state of its channel. */
export class GuestCommand implements GuestProcess {
  readonly stdout: CreditedStream;
  readonly stderr: CreditedStream;
  readonly #link: CommandLink;
  readonly #takesStdin: boolean;
  readonly #started = Promise.withResolvers<void>();
  readonly #exit = Promise.withResolvers<ExitStatus>();
  readonly #creditWaiters = new Set<() => void>();
  #credit = STREAM_WINDOW;
  #stdin: Promise<void> = Promise.resolve();
  #stdinClosed = false;
  #over = false;

  constructor(link: CommandLink, takesStdin: boolean) {
    this.#link = link;
    this.#takesStdin = takesStdin;
    this.stdout = new CreditedStream((bytes) => this.#send(HostFrame.CREDIT, encodeCredit(Stream.stdout, bytes)));
    this.stderr = new CreditedStream((bytes) => this.#send(HostFrame.CREDIT, encodeCredit(Stream.stderr, bytes)));
    // A caller may look at either only later, or never.
    this.#started.promise.catch(() => {});
    this.#exit.promise.catch(() => {});
  }

  /** Resolves when the agent runs the command; rejects with a DriverError when it refuses. */
  get started(): Promise<void> {
    return this.#started.promise;
  }

  get exit(): Promise<ExitStatus> {
    return this.#exit.promise;
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (!this.#takesStdin || this.#stdinClosed) throw new DriverError('Invalid', 'the command’s stdin is closed');
    await this.#inOrder(() => this.#write(bytes));
  }

  async closeStdin(): Promise<void> {
    if (!this.#takesStdin || this.#stdinClosed) return;
    this.#stdinClosed = true;
    await this.#inOrder(async () => this.#send(HostFrame.STDIN_EOF));
  }

  resize(rows: number, columns: number): void {
    this.#send(HostFrame.RESIZE, encodeSize(rows, columns));
  }

  /** Ends the command and everything in its session; `exit` tells when. */
  kill(): void {
    this.#send(HostFrame.CLOSE);
  }

  /** Takes a frame of this channel. Throws ProtocolError. */
  take(frame: Frame): void {
    switch (frame.type) {
      case AgentFrame.STARTED:
        this.#started.resolve();
        return;
      case AgentFrame.STDOUT:
        this.stdout.push(frame.payload);
        return;
      case AgentFrame.STDERR:
        this.stderr.push(frame.payload);
        return;
      case AgentFrame.CREDIT:
        this.#takeCredit(frame.payload);
        return;
      case AgentFrame.EXIT:
        this.#finish(decodeExit(frame.payload));
        return;
      case AgentFrame.ERROR:
        this.fail(refusal(frame.payload));
        return;
      default:
        throw new ProtocolError(`the agent sent a frame of type ${frame.type} for a command`);
    }
  }

  /** The session or the channel broke. */
  fail(error: DriverError): void {
    if (this.#over) return;
    this.#over = true;
    this.#started.reject(error);
    this.#exit.reject(new DriverError('StreamBroken', error.message, { cause: error }));
    this.#endStreams(new DriverError('StreamBroken', error.message, { cause: error }));
  }

  #finish(status: ExitStatus): void {
    this.#over = true;
    this.#started.resolve();
    this.#exit.resolve(status);
    this.#endStreams();
  }

  #endStreams(error?: Error): void {
    this.stdout.end(error);
    this.stderr.end(error);
    this.#wakeWriters();
    this.#link.over();
  }

  #takeCredit(payload: Uint8Array): void {
    const { stream, bytes } = decodeCredit(payload);
    if (stream !== Stream.stdin || this.#credit + bytes > STREAM_WINDOW)
      throw new ProtocolError('the agent gave credit that was not used');
    this.#credit += bytes;
    this.#wakeWriters();
  }

  #wakeWriters(): void {
    for (const wake of this.#creditWaiters) wake();
    this.#creditWaiters.clear();
  }

  /** Writes keep their order; one that failed does not hold up the next. */
  #inOrder(step: () => Promise<void>): Promise<void> {
    const turn = this.#stdin.then(step);
    this.#stdin = turn.catch(() => {});
    return turn;
  }

  async #write(bytes: Uint8Array): Promise<void> {
    for (const payload of stdinPayloads(bytes)) {
      while (!this.#over && this.#credit < payload.length) await this.#moreCredit();
      if (this.#over) throw new DriverError('StreamBroken', 'the command has ended');
      this.#credit -= payload.length;
      this.#send(HostFrame.STDIN, payload);
      await this.#link.writable();
    }
  }

  #moreCredit(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#creditWaiters.add(resolve);
    return promise;
  }

  #send(type: HostFrame, payload?: Uint8Array): void {
    if (!this.#over) this.#link.send(type, payload);
  }
}

/** What the agent's ERROR means to a caller. */
export function refusal(payload: Uint8Array): DriverError {
  const { reason, message } = decodeError(payload);
  const text = `the guest agent refused: ${message}`;
  if (reason === ErrorReason.busy) return new DriverError('AgentUnavailable', `${text}; end one of them first`);
  if (reason === ErrorReason.invalid) return new DriverError('Invalid', text);
  if (reason === ErrorReason.unsupported) return new DriverError('Unsupported', text);
  return new DriverError('Failed', text);
}
