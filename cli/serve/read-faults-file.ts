import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { FaultsFile } from '../../nodelet/drivers/sim/faults/faults-file.ts';
import { Failure } from '../failure.ts';
import { FAULTS_HINT, orFailure } from './faulty-hosts.ts';

/** Reads the file that `--faults` names. Throws a `Failure` that tells what is wrong with it, and in which line. */
export function readFaultsFile(path: string, cwd: string): FaultsFile {
  const text = textOf(path, cwd);
  return orFailure(() => FaultsFile.read(path, text));
}

function textOf(path: string, cwd: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(resolve(cwd, path)));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'there is no such file' : `cannot be read: ${message}`;
    throw new Failure(`--faults: ${path}: ${why}`, { hint: FAULTS_HINT, cause: error });
  }
}
