import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject } from '../resources/meta/object.ts';

/** Which store the server has, and how far it has come. */
export interface StoreIdentity {
  readonly uid: string;
  readonly revision: number;
}

/** Whether the store can be believed when it asks for something that cannot be undone. */
export type StoreTrust = { readonly trusted: true } | { readonly trusted: false; readonly message: string };

export interface StoreGuardOptions {
  /** The host's own folder. */
  readonly root: string;
  /** Asks the server; rejects when it cannot be asked. */
  readonly storeIdentity: (signal: AbortSignal) => Promise<StoreIdentity>;
}

/** `distrust`: why, once it was noticed. */
interface Filed extends StoreIdentity {
  readonly distrust?: string;
}

const FILE_LAG = 256;

/**
 * Notices a store that was put back to an earlier state, or swapped: an object in it may ask to delete what a later one wanted kept.
 *
 * `store.json` below the root holds the uid and the highest revision seen. A server with another uid or a lower revision is not trusted until the file is
 * gone: an operator removes it, or `acknowledge` does. While this process lives the revision it compares with is exact; the file may lag behind the last
 * `check` by `FILE_LAG` revisions, so that deleting ten thousand VMs is not as many writes here, and is exact after `keep`.
 */
export class StoreGuard {
  readonly #path: string;
  readonly #ask: StoreGuardOptions['storeIdentity'];
  #trust: StoreTrust | undefined;
  /** The most this process has seen itself. */
  #seen: StoreIdentity | undefined;
  #checking: Promise<StoreTrust> | undefined;
  /** What this process wrote last. */
  #filedRevision: number | undefined;

  constructor(options: StoreGuardOptions) {
    this.#path = join(options.root, 'store.json');
    this.#ask = options.storeIdentity;
  }

  /** What the last check found; undefined before the first. */
  get trust(): StoreTrust | undefined {
    return this.#trust;
  }

  /** Asks the server and compares. Calls that come while one is under way share it. Rejects when the server cannot be asked. */
  check(signal: AbortSignal): Promise<StoreTrust> {
    this.#checking ??= this.#check(signal).finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  /** As `check`, and files what it saw: the next process compares with no less than this. */
  async keep(signal: AbortSignal): Promise<void> {
    const { trusted } = await this.check(signal);
    if (trusted && this.#seen !== undefined && this.#seen.revision !== this.#filedRevision)
      await this.#write(this.#seen);
  }

  /** The operator takes the store as it is now: the next check begins anew. */
  async acknowledge(): Promise<void> {
    await rm(this.#path, { force: true });
  }

  async #check(signal: AbortSignal): Promise<StoreTrust> {
    const now = await this.#ask(signal);
    const filed = await this.#read();
    this.#trust = judge(filed, this.#seen, now, this.#path);
    if (!this.#trust.trusted) {
      // Kept in the file: the store's revision will grow past what was seen, and be no more trustworthy for it.
      if (filed !== undefined && filed.distrust === undefined) {
        await this.#write({ ...filed, distrust: this.#trust.message });
      }
      return this.#trust;
    }
    this.#seen = now;
    if (filed === undefined || now.revision - filed.revision >= FILE_LAG) await this.#write(now);
    return this.#trust;
  }

  async #read(): Promise<Filed | undefined> {
    const text = await readFile(this.#path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    return text === undefined ? undefined : parse(text, this.#path);
  }

  async #write(identity: Filed): Promise<void> {
    await mkdir(join(this.#path, '..'), { recursive: true, mode: 0o700 });
    const temporary = `${this.#path}.tmp`;
    const file = await open(temporary, 'w', 0o600);
    try {
      await file.writeFile(`${JSON.stringify(identity)}\n`);
      // Before the rename: after a power cut an empty file must not stand where the old one stood.
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(temporary, this.#path);
    this.#filedRevision = identity.revision;
  }
}

function judge(
  filed: Filed | undefined,
  seen: StoreIdentity | undefined,
  now: StoreIdentity,
  path: string,
): StoreTrust {
  // No file, no memory: whoever removed it took the store as it is.
  if (filed === undefined) return { trusted: true };
  if (filed.distrust !== undefined) return { trusted: false, message: filed.distrust };
  const remedy = `nothing is stopped or removed here until ${path} is removed`;
  if (filed.uid !== now.uid) {
    return { trusted: false, message: `the store is ${now.uid}, before it was ${filed.uid}; ${remedy}` };
  }
  const highest = Math.max(filed.revision, seen?.uid === filed.uid ? seen.revision : 0);
  if (now.revision < highest) {
    const message = `the store is at revision ${now.revision}, before it was at ${highest}; ${remedy}`;
    return { trusted: false, message };
  }
  return { trusted: true };
}

/** A file that cannot be understood says nothing about the store, so the store is not believed; whoever removes it has looked. */
function parse(text: string, path: string): Filed {
  const value = jsonOf(text);
  if (!isObject(value) || typeof value.uid !== 'string' || typeof value.revision !== 'number') {
    return {
      uid: '',
      revision: 0,
      distrust: `${path} holds no uid and revision; remove it to take the store as it is now`,
    };
  }
  const { uid, revision, distrust } = value;
  return { uid, revision, ...(typeof distrust === 'string' ? { distrust } : {}) };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
