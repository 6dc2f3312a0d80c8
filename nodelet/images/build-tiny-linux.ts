import type { ImageFacts } from '../drivers/driver.ts';
import type { ImageManifest } from './image-manifest.ts';

export interface BuildTinyLinux {
  /** The image's folder; made, or replaced in one step when it is out of date. */
  readonly outDir: string;
  /** Where downloaded packages are kept for the next build; without it they are downloaded into a temporary folder. */
  readonly cacheDir?: string;
  /** The folder that holds `nodelet/agent` and `nodelet/images/tiny-linux`. */
  readonly packageRoot: string;
  /** Told each step, a sentence each. */
  report(step: string): void;
}

export interface BuiltImage {
  readonly manifest: ImageManifest;
  readonly facts: ImageFacts;
  /** False: the image was there already, made from the same packages and sources. */
  readonly built: boolean;
}
