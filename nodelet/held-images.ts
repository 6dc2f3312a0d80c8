import type { Image } from '../resources/kinds/image.ts';
import type { Driver, ImageFacts } from './drivers/driver.ts';

/** Which Images of the catalog lie on this host. */
export class HeldImages {
  readonly #driver: Driver;
  readonly #held = new Map<string, ImageFacts & { readonly path: string }>();

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  /** Looks for an Image; `undefined` = it left the catalog. Answers whether anything is different from before. */
  async look(name: string, image: Image | undefined, signal: AbortSignal): Promise<boolean> {
    const before = this.#held.get(name);
    const path = image?.spec.source.path;
    const found = path === undefined ? undefined : await this.#driver.image(path, signal);
    if (found === undefined || path === undefined) return this.#held.delete(name);
    this.#held.set(name, { ...found, path });
    return before?.digest !== found.digest || before.sizeBytes !== found.sizeBytes;
  }

  /** Sorted by name. */
  list(): readonly (ImageFacts & { readonly name: string })[] {
    return [...this.#held]
      .map(([name, { digest, sizeBytes }]) => ({ name, digest, sizeBytes }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }
}
