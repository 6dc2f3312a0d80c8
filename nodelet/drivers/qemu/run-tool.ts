import { spawn } from 'node:child_process';
import type { Clock } from '../../../resources/ambient/clock.ts';

export interface ToolRun {
  readonly code: number | undefined;
  /** The signal that ended it. */
  readonly signal: string | undefined;
  readonly timedOut: boolean;
  /** The first 64 KiB of each. */
  readonly stdout: string;
  readonly stderr: string;
}

const MAX_OUTPUT = 64 * 1024;

/** Runs a short-lived tool to its end. Rejects when it cannot be run at all, or when the signal aborts; the tool is dead by then. */
export async function runTool(
  binary: string,
  args: readonly string[],
  options: { readonly clock: Clock; readonly timeoutMs: number; readonly cwd?: string },
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
    const stdout = collect(child.stdout);
    const stderr = collect(child.stderr);
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

function collect(stream: NodeJS.ReadableStream): () => string {
  const chunks: Buffer[] = [];
  let kept = 0;
  stream.on('data', (chunk: Buffer) => {
    const part = chunk.subarray(0, MAX_OUTPUT - kept);
    kept += part.length;
    if (part.length > 0) chunks.push(part);
  });
  return () => Buffer.concat(chunks).toString('utf8');
}
