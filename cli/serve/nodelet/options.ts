import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { FaultsFile } from '../../../nodelet/drivers/sim/faults/faults-file.ts';
import { type EnrollmentToken, parseEnrollmentToken } from '../../../nodelet/identity/enrollment-token.ts';
import { Failure } from '../../failure.ts';
import type { KeptNodelet, NodeletDriver } from './kept-nodelet.ts';

/** What `coppice nodelet` was asked for. */
export interface NodeletProcessOptions {
  /** Absolute. */
  readonly home: string;
  /** Origins; none for those the home has. */
  readonly servers: readonly string[];
  readonly tokens: readonly EnrollmentToken[];
  /** Undefined for the one the home has. */
  readonly driver: NodeletDriver | undefined;
  readonly faults: FaultsFile | undefined;
}

export interface NodeletFlags {
  readonly home: string;
  readonly server: readonly string[] | undefined;
  readonly token: readonly string[] | undefined;
  readonly 'token-file': string | undefined;
  readonly driver: string | undefined;
  /** Read already. */
  readonly faults: FaultsFile | undefined;
}

/** Checks flags. Throws a `Failure` that names the flag; a token is not repeated in it. */
export function nodeletOptions(flags: NodeletFlags, cwd: string): NodeletProcessOptions {
  const { home, driver } = flags;
  if (home === '') throw new Failure('--home is empty', { hint: 'name a folder, or leave it out for ~/.coppice' });
  if (driver !== undefined && !isDriver(driver)) throw new Failure(`there is no driver "${driver}"`);
  return {
    home: resolve(cwd, home),
    servers: (flags.server ?? []).flatMap((text) => text.split(',')).map((text) => originIn(text.trim())),
    tokens: tokensIn(flags, cwd),
    driver,
    faults: flags.faults,
  };
}

/** Where the orders come from and what runs guests: as asked for, else as before. Throws a `Failure` when no server is known. */
export function settled(
  { home, servers, driver, faults }: NodeletProcessOptions,
  kept: KeptNodelet | undefined,
): KeptNodelet {
  const all = servers.length > 0 ? servers : (kept?.servers ?? []);
  if (all.length === 0)
    throw new Failure(`${home} knows no server`, { hint: 'name one with --server https://HOST:PORT' });
  const which = driver ?? kept?.driver ?? 'auto';
  if (faults !== undefined && which !== 'sim')
    throw new Failure('--faults is for simulated hosts', { hint: 'add --driver sim' });
  return { servers: all, driver: which };
}

const isDriver = (text: string): text is NodeletDriver => text === 'auto' || text === 'qemu' || text === 'sim';

function originIn(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'https:' || `${url.origin}/` !== url.href)
    throw new Failure(`--server is "${text}", which is not https://HOST:PORT`, {
      hint: 'several are given with commas',
    });
  return url.origin;
}

function tokensIn(flags: NodeletFlags, cwd: string): readonly EnrollmentToken[] {
  const file = flags['token-file'];
  const lines = file === undefined ? [] : textOf(resolve(cwd, file)).split('\n');
  const parse = (flag: string) => (text: string, at: number) => {
    const token = parseEnrollmentToken(text);
    if (token !== undefined) return token;
    // Whatever it is, it may be a secret.
    throw new Failure(`${flag}: number ${at + 1} is no token of a host`, {
      hint: '"coppice host token NAME" makes one',
    });
  };
  const written = (flags.token ?? []).flatMap((text) => text.split(',')).map((text) => text.trim());
  const read = lines.map((line) => line.trim()).filter((line) => line !== '');
  const tokens = [...written.map(parse('--token')), ...read.map(parse('--token-file'))];
  const twice = tokens.find(({ host }, at) => tokens.findIndex((other) => other.host === host) !== at);
  if (twice !== undefined) throw new Failure(`there are two tokens for host ${twice.host}`);
  return tokens;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Failure(`--token-file: ${path} ${code === 'ENOENT' ? 'is not there' : `cannot be read (${code})`}`, {
      cause: error,
    });
  }
}
