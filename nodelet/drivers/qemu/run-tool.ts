import { spawn } from 'node:child_process';
import type { Clock } from '../../../resources/ambient/clock.ts';

export interface ToolRun {
  readonly code: number | undefined;
  /** The signal that ended it. */
  readonly signal: string | undefined;
  readonly timedOut: boolean;
  /** The first 64 KiB of each, or what `maxOutputBytes` says. */
  readonly stdout: string;
  readonly stderr: string;
}

const MAX_OUTPUT = 64 * 1024;

/** Runs a short-lived tool to its end. Rejects when it cannot be run at all, or when the signal aborts; the tool is dead by then. */
export async function runTool(
  binary: string,
  args: readonly string[],
  options: {
    readonly clock: Clock;
    readonly timeoutMs: number;
    readonly cwd?: string;
    readonly maxOutputBytes?: number;
  },
  signal: AbortSignal,
): Promise<ToolRun> {
  signal.throwIfAborted();
  const child = spawn(binary, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  let timedOut = false;
  const kill = () => child.kill('SIGKILL');
  const cancel = options.clock.after(options.timeoutMs, () => {
    timedOut = true;
    kill();
  });
  signal.addEventListener('abort', kill, { once: true });
  try {
    const stdout = collect(child.stdout, options.maxOutputBytes);
    const stderr = collect(child.stderr, options.maxOutputBytes);
    const [code, by] = await new Promise<[number | null, string | null]>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (exit, name) => resolve([exit, name]));
    });
    signal.throwIfAborted();
    return { code: code ?? undefined, signal: by ?? undefined, timedOut, stdout: stdout(), stderr: stderr() };
  } finally {
    cancel();
    signal.removeEventListener('abort', kill);
  }
}

function collect(stream: NodeJS.ReadableStream, maxBytes = MAX_OUTPUT): () => string {
  const chunks: Buffer[] = [];
  let kept = 0;
  stream.on('data', (chunk: Buffer) => {
    const part = chunk.subarray(0, maxBytes - kept);
    kept += part.length;
    if (part.length > 0) chunks.push(part);
  });
  return () => Buffer.concat(chunks).toString('utf8');
}
