import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { packageRoot } from '../../../cli/package-root.ts';

const run = promisify(execFile);

/**
 * A Python that has the packages of a requirements file, in a folder of its own that the next call finds again; or why it cannot be had: there is
 * no python3, it is too old for them, or they could not be fetched.
 */
export async function pythonWith(
  requirements: string,
  signal: AbortSignal,
): Promise<string | { readonly why: string }> {
  const key = createHash('sha256').update(await readFile(requirements));
  try {
    const { stdout } = await run('python3', ['--version'], { signal });
    key.update(stdout);
  } catch {
    return { why: 'no python3 on PATH' };
  }
  const folder = join(packageRoot(), 'node_modules', '.cache', 'clients', `python-${key.digest('hex').slice(0, 12)}`);
  const python = join(folder, 'bin', 'python');
  const complete = join(folder, 'complete');
  if (await exists(complete)) return python;
  try {
    await rm(folder, { recursive: true, force: true });
    await run('python3', ['-m', 'venv', folder], { signal });
    const options = ['--quiet', '--disable-pip-version-check', '--no-input', '--retries', '1', '--timeout', '20'];
    await run(python, ['-m', 'pip', 'install', ...options, '--no-compile', '--no-deps', '-r', requirements], {
      signal,
    });
  } catch (error) {
    return { why: `its packages could not be installed: ${lastLine(error)}` };
  }
  await writeFile(complete, '');
  return python;
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

function lastLine(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message: string };
  return (stderr?.trim() || message).split('\n').at(-1) ?? message;
}
