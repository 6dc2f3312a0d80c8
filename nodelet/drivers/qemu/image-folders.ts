import { readFile } from 'node:fs/promises';
import { isAbsolute, join, normalize } from 'node:path';
import { ImageDigests } from '../../images/image-digest.ts';
import { type ImageManifest, parseImageManifest } from '../../images/image-manifest.ts';
import { DriverError, type GuestSpec, type ImageFacts } from '../driver.ts';

/** An image a guest can be started from; its files with absolute paths. */
interface ImageFolder {
  readonly manifest: ImageManifest;
  readonly kernel: string;
  readonly initrd: string;
}

/** Finds images below one folder, or at absolute paths. */
export class ImageFolders {
  readonly #root: string;
  readonly #digests = new ImageDigests();

  constructor(root: string) {
    this.#root = root;
  }

  /** Undefined if it is not there; throws `Invalid` when it is there and no image. */
  async facts(path: string, signal: AbortSignal): Promise<ImageFacts | undefined> {
    const dir = this.#dir(path);
    try {
      return await this.#digests.facts(dir, signal);
    } catch (cause) {
      signal.throwIfAborted();
      throw new DriverError('Invalid', `image ${path}: ${cause instanceof Error ? cause.message : String(cause)}`, {
        cause,
      });
    }
  }

  /** The guest's image as it is on disk. Throws `ImageMissing` when it is not there, or is another by now. */
  async open(image: GuestSpec['image'], signal: AbortSignal): Promise<ImageFolder> {
    const facts = await this.facts(image.path, signal);
    const dir = this.#dir(image.path);
    if (facts === undefined)
      throw new DriverError('ImageMissing', `there is no image ${image.path} on this host (looked for ${dir})`);
    if (facts.digest !== image.digest) {
      throw new DriverError(
        'ImageMissing',
        `image ${image.path} has digest ${facts.digest} on this host, not ${image.digest}`,
      );
    }
    const manifest = parseImageManifest(await readFile(join(dir, 'image.json'), 'utf8'));
    return { manifest, kernel: join(dir, manifest.kernel), initrd: join(dir, manifest.initrd) };
  }

  #dir(path: string): string {
    const normal = normalize(path);
    if (isAbsolute(normal)) return normal;
    if (normal === '..' || normal.startsWith('../'))
      throw new DriverError('Invalid', `image path ${path} leads out of the images folder`);
    return join(this.#root, normal);
  }
}
