import { open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Host } from '../../resources/kinds/host.ts';
import { isObject } from '../../resources/meta/object.ts';

export type Clearing = NonNullable<NonNullable<NonNullable<Host['status']>['scrub']>['clearing']>;

/** A scrub that was answered here. */
export interface AnsweredScrub {
  /** Of the Host. */
  readonly uid: string;
  readonly requestedAt: string;
  readonly clearing: Clearing;
}

/**
 * The last scrub this host answered, in `scrub.json` of its folder. Written before the server is told, so that no answer is worked out twice, and a store that was put back
 * cannot have done again what was done long ago.
 */
export class ScrubFile {
  readonly #path: string;

  constructor(root: string) {
    this.#path = join(root, 'scrub.json');
  }

  async read(): Promise<AnsweredScrub | undefined> {
    const text = await readFile(this.#path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (text === undefined) return undefined;
    const value: unknown = JSON.parse(text);
    if (!isAnswered(value)) throw new Error(`${this.#path} holds no scrub; remove it to have this host scrubbed`);
    return value;
  }

  async write(answered: AnsweredScrub): Promise<void> {
    const temporary = `${this.#path}.tmp`;
    const file = await open(temporary, 'w', 0o600);
    try {
      await file.writeFile(`${JSON.stringify(answered)}\n`);
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(temporary, this.#path);
  }
}

function isAnswered(value: unknown): value is AnsweredScrub {
  if (!isObject(value) || typeof value.uid !== 'string' || typeof value.requestedAt !== 'string') return false;
  return isObject(value.clearing) && typeof value.clearing.result === 'string';
}
