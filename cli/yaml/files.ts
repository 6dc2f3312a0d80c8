import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join, resolve } from 'node:path';
import { Failure } from '../failure.ts';
import type { Io } from '../io.ts';
import { MAX_FILE_BYTES, readObjects, type SourceObject } from './documents.ts';

const MANIFEST = new Set(['.yaml', '.yml', '.json']);

/** The objects behind `-f`: a file, a folder (its manifests by name, deeper ones with `recursive`), or `-` for stdin. */
export async function readSource(io: Io, path: string, recursive: boolean): Promise<SourceObject[]> {
  if (path === '-') return readObjects('stdin', await readStdin(io));
  if (/^https?:\/\//.test(path))
    throw new Failure(`${path}: addresses are not fetched`, { hint: 'download it, look at it, and apply the file' });
  const full = resolve(io.cwd, path);
  if (!(await isFolder(full, path))) return readObjects(path, await readManifest(full, path));
  const out: SourceObject[] = [];
  for (const file of await manifestsIn(full, path, recursive)) {
    out.push(...readObjects(file.shown, await readManifest(file.full, file.shown)));
  }
  return out;
}

async function isFolder(full: string, shown: string): Promise<boolean> {
  try {
    return (await stat(full)).isDirectory();
  } catch (error) {
    throw unreadable(shown, error);
  }
}

/** The bytes of a file, named in the error by the path the user gave. */
export async function readManifest(full: string, shown: string): Promise<Uint8Array> {
  try {
    const { size } = await stat(full);
    if (size > MAX_FILE_BYTES) throw new Failure(`${shown}: ${size} bytes, but at most ${MAX_FILE_BYTES} are read`);
    return await readFile(full);
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw unreadable(shown, error);
  }
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
