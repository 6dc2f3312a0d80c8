import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Failure } from '../failure.ts';
import type { Io } from '../io.ts';
import { at, readDocuments, readObjects, type SourceObject } from '../yaml/documents.ts';
import { readManifest } from '../yaml/files.ts';

const NAMES = ['kustomization.yaml', 'kustomization.yml', 'Kustomization'];
/** A kustomization may list folders with kustomizations of their own; deeper than this is a circle. */
const MAX_DEPTH = 16;
const MAX_OUTPUT = 3 << 20;

/**
 * The objects of a kustomization. One that only lists `resources` is read here, in its order; for anything else kustomize is needed, and
 * kubectl has it.
 */
export async function readKustomization(io: Io, folder: string): Promise<SourceObject[]> {
  const plain = await readPlain(io, folder, 0);
  if (Array.isArray(plain)) return plain;
  const built = await buildWithKubectl(io, folder);
  if (built === undefined) {
    throw new Failure(`${plain.file}: the field "${plain.field}" needs kubectl, which is not on PATH`, {
      hint: 'coppice itself reads only "resources"',
    });
  }
  return readObjects(`kustomization ${folder}`, built);
}

/** The objects, or the first field that is more than a list of resources. */
async function readPlain(
  io: Io,
  folder: string,
  depth: number,
): Promise<SourceObject[] | { file: string; field: string }> {
  const { file, resources, other } = await readFields(io, folder);
  if (other !== undefined) return { file, field: other };
  if (depth > MAX_DEPTH) throw new Failure(`${file}: kustomizations are nested more than ${MAX_DEPTH} deep`);
  const out: SourceObject[] = [];
  for (const resource of resources) {
    const shown = join(folder, resource);
    if (/^[a-z]+:\/\//.test(resource) || resource.includes('?ref=')) return { file, field: `resources: ${resource}` };
    if (findKustomization(io, shown) !== undefined) {
      const inner = await readPlain(io, shown, depth + 1);
      if (!Array.isArray(inner)) return inner;
      out.push(...inner);
    } else out.push(...readObjects(shown, await readManifest(resolve(io.cwd, shown), shown)));
  }
  return out;
}

async function readFields(
  io: Io,
  folder: string,
): Promise<{ file: string; resources: readonly string[]; other: string | undefined }> {
  const file = findKustomization(io, folder);
  if (file === undefined) throw new Failure(`${folder}: there is no ${NAMES[0]} in it`);
  const [document, second] = readDocuments(file, await readManifest(resolve(io.cwd, file), file));
  if (document === undefined) throw new Failure(`${file}: it is empty`);
  if (second !== undefined) throw at(second.source, 'a kustomization is one document');
  const { apiVersion: _a, kind: _k, metadata: _m, resources = [], ...others } = document.value;
  if (!Array.isArray(resources) || !resources.every((item) => typeof item === 'string'))
    throw at(document.source, 'resources is not a list of paths');
  return { file, resources, other: Object.keys(others)[0] };
}

function findKustomization(io: Io, folder: string): string | undefined {
  return NAMES.map((name) => join(folder, name)).find((file) => existsSync(resolve(io.cwd, file)));
}

/** What `kubectl kustomize` makes of it; undefined without kubectl. */
async function buildWithKubectl(io: Io, folder: string): Promise<Uint8Array | undefined> {
  const { promise, resolve: done, reject } = Promise.withResolvers<Uint8Array | undefined>();
  const child = spawn('kubectl', ['kustomize', resolve(io.cwd, folder)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    signal: io.signal,
    env: { PATH: io.env.PATH, HOME: io.env.HOME },
  });
  const pieces: Buffer[] = [];
  let size = 0;
  let said = '';
  child.stdout.on('data', (piece: Buffer) => {
    size += piece.length;
    if (size > MAX_OUTPUT) child.kill('SIGKILL');
    else pieces.push(piece);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-2000);
  });
  child.on('error', (error: NodeJS.ErrnoException) => (error.code === 'ENOENT' ? done(undefined) : reject(error)));
  child.on('close', (code) => {
    if (size > MAX_OUTPUT) reject(new Failure(`kustomization ${folder}: it makes more than ${MAX_OUTPUT} bytes`));
    else if (code === 0) done(Buffer.concat(pieces));
    else reject(new Failure(`kubectl kustomize ${folder} failed: ${said.trim()}`));
  });
  return promise;
}
