import { usage } from '../failure.ts';
import type { Io } from '../io.ts';
import type { SourceObject } from '../yaml/documents.ts';
import { readSource } from '../yaml/files.ts';
import { readKustomization } from './kustomize.ts';

/** The objects that `-f` and `-k` name, in their order. All files are read before anything is done with one of them. */
export async function readSources(
  io: Io,
  from: { readonly files: readonly string[]; readonly kustomize: string | undefined; readonly recursive: boolean },
  verb: string,
): Promise<SourceObject[]> {
  if (from.kustomize !== undefined && from.files.length > 0) throw usage('give either -f or -k, not both', verb);
  if (from.files.filter((file) => file === '-').length > 1) throw usage('stdin can be read only once', verb);
  const objects: SourceObject[] = [];
  if (from.kustomize !== undefined) objects.push(...(await readKustomization(io, from.kustomize)));
  for (const file of from.files) objects.push(...(await readSource(io, file, from.recursive)));
  return objects;
}
