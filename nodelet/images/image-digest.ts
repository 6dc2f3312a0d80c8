import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ImageFacts } from '../drivers/driver.ts';
import { parseImageManifest } from './image-manifest.ts';

const MANIFEST = 'image.json';
const CACHED_FILES = 256;

/**
 * Digests of image folders: `sha256:` over the sorted list of (file name, sha256) of `image.json` and the files it names.
 * A file is hashed again only when its inode, size or modification time has changed; at most 256 files are remembered.
 */
export class ImageDigests {
  readonly #files = new Map<string, { readonly stamp: string; readonly sha256: string }>();

  /** The facts of the image in `dir`; undefined if there is no `image.json`. Throws when a named file is missing or the manifest is malformed. */
  async facts(dir: string, signal: AbortSignal): Promise<ImageFacts | undefined> {
    const text = await readFile(join(dir, MANIFEST), { encoding: 'utf8', signal }).catch(absent);
    if (text === undefined) return undefined;
    const manifest = parseImageManifest(text);
    const total = createHash('sha256');
    let sizeBytes = 0;
    for (const name of [...new Set([MANIFEST, manifest.kernel, manifest.initrd])].sort()) {
      const file = await this.#file(join(dir, name), signal);
      total.update(`${name} ${file.sha256}\n`);
      sizeBytes += file.size;
    }
    return { digest: `sha256:${total.digest('hex')}`, sizeBytes };
  }

  async #file(path: string, signal: AbortSignal): Promise<{ readonly sha256: string; readonly size: number }> {
    const facts = await stat(path, { bigint: true });
    const stamp = `${facts.dev}:${facts.ino}:${facts.size}:${facts.mtimeNs}`;
    const known = this.#files.get(path);
    if (known?.stamp === stamp) return { sha256: known.sha256, size: Number(facts.size) };
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(path, { signal })) hash.update(chunk);
    const sha256 = hash.digest('hex');
    this.#files.delete(path);
    const oldest = this.#files.keys().next();
    if (this.#files.size >= CACHED_FILES && !oldest.done) this.#files.delete(oldest.value);
    this.#files.set(path, { stamp, sha256 });
    return { sha256, size: Number(facts.size) };
  }
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
  throw error;
}
