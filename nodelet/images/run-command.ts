import { spawn } from 'node:child_process';

interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  /** The last 4 KiB. */
  readonly stderr: string;
}

/** Runs a program of the host; `missing` when it is not there. Swapped in tests. */
export type RunCommand = (
  argv: readonly [string, ...string[]],
  options: { readonly cwd: string },
  signal: AbortSignal,
) => Promise<CommandResult | 'missing'>;

const MAX_STDOUT = 4 << 20;
const MAX_STDERR = 4096;

/** Runs it without a shell and waits for its end; ending the signal kills it and rejects. */
export const runCommand: RunCommand = (argv, options, signal) => {
  const { promise, resolve, reject } = Promise.withResolvers<CommandResult | 'missing'>();
  const [file, ...args] = argv;
  const child = spawn(file, args, { cwd: options.cwd, signal, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    if (stdout.length > MAX_STDOUT) child.kill('SIGKILL');
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-MAX_STDERR);
  });
  child.on('error', (error: NodeJS.ErrnoException) => (error.code === 'ENOENT' ? resolve('missing') : reject(error)));
  child.on('close', (code) => resolve({ code: code ?? 128, stdout, stderr }));
  return promise;
};
