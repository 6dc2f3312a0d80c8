import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { packageRoot } from '../../../cli/package-root.ts';

const run = promisify(execFile);
/** The compiler's own optimising would take longer than the programs run. */
const QUICKLY = ['-gcflags=all=-N -l -dwarf=false', '-ldflags=-s -w'];

/**
 * Compiles a program of this folder and answers its path; or why it cannot be had: there is no go, it is too old for the modules, they could not be
 * fetched, or it took too long. Throws when the program itself does not compile.
 */
export async function goProgram(name: string, signal: AbortSignal): Promise<string | { readonly why: string }> {
  const go = (...args: readonly string[]) =>
    run('go', args, {
      cwd: import.meta.dirname,
      signal,
      maxBuffer: 64 << 20,
      env: { ...process.env, GOTOOLCHAIN: 'local' },
    });
  try {
    await go('version');
  } catch {
    return { why: 'no go on PATH' };
  }
  const folder = join(packageRoot(), 'node_modules', '.cache', 'clients');
  const program = join(folder, `go-${name}`);
  try {
    await mkdir(folder, { recursive: true });
    // Fetches what the program imports, and no more.
    await go('list', '-deps', `./${name}`);
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string };
    return { why: `its modules could not be had: ${(stderr?.trim() || message).split('\n').at(-1)}` };
  }
  try {
    await go('build', ...QUICKLY, '-o', program, `./${name}`);
  } catch (error) {
    if (signal.aborted) return { why: 'compiling it takes too long here' };
    throw error;
  }
  return program;
}
