import type { ExecRequest, GuestProcess } from '../driver.ts';
import type { SimGuest } from './sim-guests-file.ts';

type Exit = { readonly code: number; readonly signal?: number };

/** Bytes a simulated command may have written before somebody reads them. */
const MAX_UNREAD = 256 * 1024;
const CTRL_C = 3;
const CTRL_D = 4;

/**
 * A command of a simulated guest: `true`, `false`, `echo`, `uname`, `sh -c 'exit N'`, `cat` and `poweroff` do what they do anywhere; others say they are simulated
 * and exit 127. `killed` ends the command, `gone` breaks its streams.
 */
export function simProcess(
  guest: SimGuest,
  request: ExecRequest,
  ends: { readonly killed: AbortSignal; readonly gone: AbortSignal },
): GuestProcess {
  const exit = Promise.withResolvers<Exit>();
  // A process whose exit nobody awaits is no error.
  exit.promise.catch(() => {});
  const stdout = new Output();
  const stderr = new Output();
  const close = () => {
    ends.killed.removeEventListener('abort', kill);
    ends.gone.removeEventListener('abort', breakOff);
    stdout.end();
    stderr.end();
  };
  const end = (outcome: Exit) => {
    close();
    exit.resolve(outcome);
  };
  const kill = () => end({ code: 128 + 9, signal: 9 });
  const breakOff = () => {
    close();
    exit.reject(ends.gone.reason);
  };
  ends.killed.addEventListener('abort', kill, { once: true });
  ends.gone.addEventListener('abort', breakOff, { once: true });
  if (ends.gone.aborted) breakOff();

  const cat = request.command[0] === 'cat' && request.command.length === 1 && request.stdin;
  if (!cat) {
    const answer = answerOf(guest, request);
    stdout.put(text(answer.out ?? '', request));
    stderr.put(text(answer.err ?? '', request));
    end({ code: answer.code });
  }
  return {
    stdout,
    stderr,
    exit: exit.promise,
    async write(bytes) {
      if (!cat) return;
      const stop = request.tty === undefined ? -1 : bytes.findIndex((b) => b === CTRL_C || b === CTRL_D);
      await stdout.write(stop < 0 ? bytes : bytes.subarray(0, stop));
      if (stop >= 0) end(bytes[stop] === CTRL_C ? { code: 128 + 2, signal: 2 } : { code: 0 });
    },
    async closeStdin() {
      if (cat) end({ code: 0 });
    },
    resize() {},
  };
}

interface Answer {
  readonly code: number;
  readonly out?: string;
  readonly err?: string;
}

function answerOf(guest: SimGuest, { command }: ExecRequest): Answer {
  const [name = '', ...args] = command;
  const exits =
    name === 'sh' && args[0] === '-c' && args.length === 2 ? /^\s*exit\s+(\d{1,3})\s*$/.exec(args[1] ?? '') : null;
  if (exits !== null) return { code: Number(exits[1]) & 255 };
  switch (name) {
    case 'true':
    case 'cat':
      if (args.length > 0 && name === 'cat') break;
      return { code: 0 };
    case 'false':
      return { code: 1 };
    case 'echo':
      return { code: 0, out: args[0] === '-n' ? args.slice(1).join(' ') : `${args.join(' ')}\n` };
    case 'uname':
      return { code: 0, out: uname(guest, args) };
  }
  return {
    code: 127,
    err: `simulated guest: ${JSON.stringify(name)} is not simulated; true, false, echo, uname, cat, poweroff and sh -c 'exit N' are\n`,
  };
}

function uname(guest: SimGuest, args: readonly string[]): string {
  const system = guest.spec.guestOS === 'macos' ? 'Darwin' : 'Linux';
  if (args[0] === '-n') return `${guest.spec.hostname}\n`;
  return args[0] === '-a' ? `${system} ${guest.spec.hostname} simulated\n` : `${system}\n`;
}

/** A terminal turns line ends into carriage return and line feed. */
function text(words: string, request: ExecRequest): Uint8Array {
  return new TextEncoder().encode(request.tty === undefined ? words : words.replaceAll('\n', '\r\n'));
}

/** Bytes on their way to one reader; a writer waits while more than the bound is unread. */
class Output implements AsyncIterable<Uint8Array> {
  readonly #chunks: Uint8Array[] = [];
  #unread = 0;
  #ended = false;
  #wakeReader: (() => void) | undefined;
  readonly #writers = new Set<() => void>();

  put(bytes: Uint8Array): void {
    if (this.#ended || bytes.length === 0) return;
    this.#chunks.push(bytes.slice());
    this.#unread += bytes.length;
    this.#wakeReader?.();
  }

  async write(bytes: Uint8Array): Promise<void> {
    while (this.#unread > MAX_UNREAD && !this.#ended) await new Promise<void>((resolve) => this.#writers.add(resolve));
    this.put(bytes);
  }

  end(): void {
    this.#ended = true;
    this.#wakeReader?.();
    this.#releaseWriters();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) {
        this.#unread -= chunk.length;
        this.#releaseWriters();
        yield chunk;
      } else if (this.#ended) return;
      else {
        await new Promise<void>((resolve) => {
          this.#wakeReader = resolve;
        });
      }
    }
  }

  #releaseWriters(): void {
    for (const wake of this.#writers) wake();
    this.#writers.clear();
  }
}
