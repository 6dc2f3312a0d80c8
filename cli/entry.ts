import { homedir } from 'node:os';
import type { Io } from './io.ts';
import { runCli } from './main.ts';

/** A Ctrl-C within this time of the first is the same one: terminals and npm both pass it on. */
const SAME_INTERRUPT_MS = 1000;

/** Resolves when a stream has taken all that was written to it, or never will. */
function written(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.writableLength === 0 || stream.errored !== null) resolve();
    else stream.write('', () => resolve());
  });
}

/** The process around the CLI: real streams, and Ctrl-C as a signal. A second Ctrl-C ends it at once. */
export async function main(): Promise<void> {
  const controller = new AbortController();
  let firstAt: number | undefined;
  const interrupted = (code: number) => () => {
    firstAt ??= Date.now();
    if (Date.now() - firstAt > SAME_INTERRUPT_MS) process.exit(code);
    controller.abort(new DOMException('interrupted', 'AbortError'));
  };
  process.on('SIGINT', interrupted(130));
  process.on('SIGTERM', interrupted(143));
  // Whoever read our output is gone (`coppice get vms | head -1`): nothing is left to say.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  const io: Io = {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    cwd: process.cwd(),
    userHome: homedir(),
    signal: controller.signal,
  };
  const code = await runCli(process.argv.slice(2), io);
  // A pipe takes 64 KiB at once, and the end of the process would lose the rest.
  for (const stream of [process.stdout, process.stderr]) await written(stream);
  // Of a full disk a file tells at once, but its event comes after this.
  const lost: NodeJS.ErrnoException | null = process.stdout.errored;
  if (lost !== null && lost.code !== 'EPIPE')
    process.stderr.write(`error: the output was not written: ${lost.message}\n`);
  process.exit(lost !== null && lost.code !== 'EPIPE' ? code || 1 : code);
}
