import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join, resolve } from 'node:path';
import { Failure } from '../failure.ts';
import type { Io } from '../io.ts';
import { MAX_FILE_BYTES, readObjects, type SourceObject } from './documents.ts';
import { readPipe } from './read-pipe.ts';

const MANIFEST = new Set(['.yaml', '.yml', '.json']);

/** The objects behind `-f`: a file, a folder (its manifests by name, deeper ones with `recursive`), or `-` for stdin. */
export async function readSource(io: Io, path: string, recursive: boolean): Promise<SourceObject[]> {
  if (path === '-') return readObjects('stdin', await readStdin(io));
  if (/^https?:\/\//.test(path))
    throw new Failure(`${path}: addresses are not fetched`, { hint: 'download it, look at it, and apply the file' });
  const full = resolve(io.cwd, path);
  const about = await aboutOf(full, path);
  if (about.isFIFO()) return readObjects(path, await orUnreadable(path, () => readPipe(full, io.signal)));
  if (!about.isDirectory()) return readObjects(path, await readManifest(full, path));
  const out: SourceObject[] = [];
  const files = await manifestsIn(full, path, recursive);
  if (files.length === 0)
    throw new Failure(`${path}: the folder has no file that ends in .yaml, .yml or .json`, {
      hint: 'with -R those in its folders are read too',
    });
  for (const file of files) {
    out.push(...readObjects(file.shown, await readManifest(file.full, file.shown)));
  }
  return out;
}

const aboutOf = (full: string, shown: string) => orUnreadable(shown, () => stat(full));

async function orUnreadable<T>(shown: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof Failure || (error instanceof Error && error.name === 'AbortError')) throw error;
    throw unreadable(shown, error);
  }
}

/** The bytes of a file, named in the error by the path the user gave. */
export async function readManifest(full: string, shown: string): Promise<Uint8Array> {
  const about = await aboutOf(full, shown);
  // A device may have no end, and a pipe nobody who writes.
  if (!about.isFile() && !about.isDirectory()) throw new Failure(`${shown}: it is not a file`);
  if (about.size > MAX_FILE_BYTES)
    throw new Failure(`${shown}: ${about.size} bytes, but at most ${MAX_FILE_BYTES} are read`);
  return orUnreadable(shown, () => readFile(full));
}

async function manifestsIn(
  full: string,
  shown: string,
  recursive: boolean,
): Promise<{ full: string; shown: string }[]> {
  const entries = (await readdir(full, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1));
  const out: { full: string; shown: string }[] = [];
  for (const entry of entries) {
    const at = { full: join(full, entry.name), shown: join(shown, entry.name) };
    if (entry.isDirectory()) {
      if (recursive) out.push(...(await manifestsIn(at.full, at.shown, recursive)));
    } else if (MANIFEST.has(extname(entry.name))) out.push(at);
  }
  return out;
}

async function readStdin(io: Io): Promise<Uint8Array> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of io.stdin) {
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : (piece as Buffer);
    size += bytes.length;
    if (size > MAX_FILE_BYTES) throw new Failure(`stdin: more than ${MAX_FILE_BYTES} bytes, and no more are read`);
    pieces.push(bytes);
  }
  return Buffer.concat(pieces);
}

function unreadable(shown: string, error: unknown): Failure {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return new Failure(`${shown}: there is no such file`, { cause: error });
  if (code === 'EACCES') return new Failure(`${shown}: no permission to read it`, { cause: error });
  return new Failure(`${shown}: cannot be read: ${error instanceof Error ? error.message : String(error)}`, {
    cause: error,
  });
}
