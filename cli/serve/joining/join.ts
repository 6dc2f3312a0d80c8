import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CA_KEYS, readAuthorities } from '../../../apiserver/pki/authority-files.ts';
import { BadKeyFileError } from '../../../apiserver/pki/bad-key-file-error.ts';
import { certificateFingerprint, KEY_FILES, ROTATABLE, readKeyFile } from '../../../apiserver/pki/key-files.ts';
import { writePrivate } from '../../../apiserver/pki/write-private.ts';
import { Failure, usage } from '../../failure.ts';
import { coppiceHome, type Io, printLine } from '../../io.ts';
import { quoted } from '../../render/shell-word.ts';
import { startFailure } from '../home.ts';
import { makeFolder } from '../make-folder.ts';
import { askKeys, pinnedAuthority } from './ask-keys.ts';
import { parseJoinLine } from './join-line.ts';

export interface JoinOptions {
  readonly line: string | undefined;
  /** Where the server is reached from here, if not where the token says. */
  readonly server: string | undefined;
  readonly home: string | undefined;
  /** Whether the home has keys of this fleet already, some of which have changed since. */
  readonly again: boolean;
}

/** Fetches the keys of a fleet into a home that has none, all of them or nothing; or again into one that has those of an earlier time. */
export async function joinFleet(io: Io, options: JoinOptions): Promise<void> {
  const line = parseJoinLine(options.line ?? '');
  if (line === undefined) throw usage('give the token that coppice apiserver token printed', 'apiserver join');
  const url = serverUrl(options.server ?? line.server);
  const home = resolve(io.cwd, coppiceHome(io, options.home));
  const folder = join(home, 'pki');
  // Before the token is used up.
  if (options.again) needKeys(folder);
  else refuseFull(folder);
  const ca = await pinnedAuthority(url, line.authorities, io.signal);
  using draft = draftFolder(home);
  const files = await askKeys(url, { token: line.token, ca }, io.signal);
  writeAll(draft.path, files);
  if (options.again) {
    takeOver(draft.path, folder);
    return printLine(io, `wrote the keys of the fleet that changed into ${folder}`);
  }
  refuseFull(folder);
  renameSync(draft.path, folder);
  printLine(io, `wrote the keys of the fleet into ${folder}`);
  printLine(io, `start the server on the fleet's etcd: coppice apiserver --home ${quoted(home)} --etcd HOST:PORT`);
}

function serverUrl(text: string): URL {
  const url = URL.parse(text);
  if (url?.protocol !== 'https:') throw new Failure(`--server is "${text}", which is not https://HOST:PORT`);
  return url;
}

function refuseFull(folder: string): void {
  if (!existsSync(folder) || readdirSync(folder).length === 0) return;
  throw new Failure(`${folder} has keys already`, { hint: 'name a home that is not in use with --home' });
}

function needKeys(folder: string): void {
  if (readKeyFile(folder, 'ca') !== undefined) return;
  throw new Failure(`${folder} has no keys yet`, { hint: 'leave out --again' });
}

/**
 * Puts the files of one folder over those of another, whose fleet it must be. Keys go first: a certificate is never there without its own, and a server
 * that looks in between goes on with what it had.
 */
function takeOver(from: string, to: string): void {
  const known = new Set((readKeyFile(to, 'ca') ?? []).map(({ text }) => certificateFingerprint(text)));
  if (!(readKeyFile(from, 'ca') ?? []).some(({ text }) => known.has(certificateFingerprint(text))))
    throw new Failure(`the keys in ${to} are of another fleet, or of too long ago`, {
      hint: 'where they are of nothing any more, remove the folder and leave out --again',
    });
  for (const name of [CA_KEYS, ...ROTATABLE.map((what) => KEY_FILES[what].name)]) {
    const [there, content] = [join(to, name), readFileSync(join(from, name), 'utf8')];
    if (!existsSync(there) || readFileSync(there, 'utf8') !== content) writePrivate(there, content);
  }
}

/** A folder beside the one to be, for its owner only; gone in the end unless it was put in place. */
function draftFolder(home: string): Disposable & { readonly path: string } {
  try {
    makeFolder(home);
    const path = mkdtempSync(join(home, 'pki-join-'));
    return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
  } catch (error) {
    throw startFailure(error, home);
  }
}

/** Only what belongs there, and only when all of it does. */
function writeAll(folder: string, files: Readonly<Record<string, string>>): void {
  const names = [...ROTATABLE.map((what) => KEY_FILES[what].name), CA_KEYS];
  try {
    for (const name of names) if (files[name]) writePrivate(join(folder, name), files[name]);
    const whole = ROTATABLE.every((what) => readKeyFile(folder, what) !== undefined);
    if (!whole || readAuthorities(folder) === undefined) throw new BadKeyFileError(folder, 'is not whole');
  } catch (error) {
    if (!(error instanceof BadKeyFileError)) throw startFailure(error, folder);
    throw new Failure('the keys that came are not whole: they may be changing just now', {
      hint: 'make another token in a moment: coppice apiserver token',
      cause: error,
    });
  }
}
