import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { FaultsFile } from '../../nodelet/drivers/sim/faults/faults-file.ts';
import { Failure } from '../failure.ts';
import { FAULTS_HINT, orFailure } from './faulty-hosts.ts';

/** Reads the file that `--faults` names. Throws a `Failure` that tells what is wrong with it, and in which line. */
export function readFaultsFile(path: string, cwd: string): FaultsFile {
  const text = textOf(path, cwd);
  return orFailure(() => FaultsFile.read(path, text));
}

/** Longer than any that people write; a device has no end. */
const MOST_BYTES = 1 << 20;

function textOf(path: string, cwd: string): string {
  try {
    const about = statSync(resolve(cwd, path));
    if (!about.isFile()) throw new Error('it is not a file');
    if (about.size > MOST_BYTES) throw new Error(`it has ${about.size} bytes, more than ${MOST_BYTES}`);
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(resolve(cwd, path)));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'there is no such file' : `cannot be read: ${message}`;
    throw new Failure(`--faults: ${path}: ${why}`, { hint: FAULTS_HINT, cause: error });
  }
}
