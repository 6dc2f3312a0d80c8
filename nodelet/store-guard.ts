import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject } from '../resources/meta/object.ts';

/** Which store the server has, and how far it has come. */
interface StoreIdentity {
  readonly uid: string;
  readonly revision: number;
}

/** Whether the store can be believed when it asks for something that cannot be undone. `token`: what an operator acknowledges it by. */
export type StoreTrust =
  | { readonly trusted: true }
  | { readonly trusted: false; readonly message: string; readonly token: string };

export interface StoreGuardOptions {
  /** The host's own folder. */
  readonly root: string;
  /** Asks the server; rejects when it cannot be asked. */
  readonly storeIdentity: (signal: AbortSignal) => Promise<StoreIdentity>;
  /** The token that an operator acknowledged last: the Host's `spec.trustedStore`. */
  readonly trustedStore?: () => string | undefined;
}

/** `distrust`: why, once it was noticed; `found`: the store that it was noticed of, as it was then. */
interface Filed extends StoreIdentity {
  readonly distrust?: string;
  readonly found?: StoreIdentity;
}

const FILE_LAG = 256;

/**
 * Notices a store that was put back to an earlier state, or swapped: an object in it may ask to delete what a later one wanted kept.
 *
 * `store.json` below the root holds the uid and the highest revision seen. A server with another uid or a lower revision is not trusted until an operator
 * acknowledges it, by its token: `UID@REVISION` of the moment it was noticed. A token is good for that once. It comes from the store in question, which
 * can only have it if it was written there since, so a store that is put back again is noticed under another one. Removing the file acknowledges whatever
 * there is. While this process lives the revision it compares with is exact; the file may lag behind the last
 * `check` by `FILE_LAG` revisions, so that deleting ten thousand VMs is not as many writes here, and is exact after `keep`.
 */
export class StoreGuard {
  readonly #path: string;
  readonly #ask: StoreGuardOptions['storeIdentity'];
  readonly #trustedStore: () => string | undefined;
  #trust: StoreTrust | undefined;
  /** The most this process has seen itself. */
  #seen: StoreIdentity | undefined;
  #checking: Promise<StoreTrust> | undefined;
  /** What this process wrote last. */
  #filedRevision: number | undefined;

  constructor(options: StoreGuardOptions) {
    this.#path = join(options.root, 'store.json');
    this.#ask = options.storeIdentity;
    this.#trustedStore = options.trustedStore ?? (() => undefined);
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
    const { uid, revision } = await this.#ask(signal);
    const now = { uid, revision };
    const filed = await this.#read();
    const verdict = judge(filed, this.#seen, now);
    if (verdict === undefined) {
      this.#seen = now;
      if (filed === undefined || now.revision - filed.revision >= FILE_LAG) await this.#write(now);
      this.#trust = { trusted: true };
    } else if (this.#trustedStore() === tokenOf(verdict.found)) {
      this.#seen = now;
      await this.#write(now);
      this.#trust = { trusted: true };
    } else {
      // Kept in the file: the store's revision will grow past what was seen, and be no more trustworthy for it.
      if (filed !== undefined && !sameVerdict(filed, verdict)) await this.#write({ ...filed, ...verdict });
      const message = `${verdict.distrust}; nothing is stopped or removed here until an operator trusts it`;
      this.#trust = { trusted: false, message, token: tokenOf(verdict.found) };
    }
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

type Verdict = Required<Pick<Filed, 'distrust' | 'found'>>;

/** Undefined: nothing speaks against it. */
function judge(filed: Filed | undefined, seen: StoreIdentity | undefined, now: StoreIdentity): Verdict | undefined {
  // No file, no memory: whoever removed it took the store as it is.
  if (filed === undefined) return undefined;
  const { distrust, found } = filed;
  // The same store as when it was noticed, grown since.
  if (distrust !== undefined && found?.uid === now.uid && now.revision >= found.revision) return { distrust, found };
  if (filed.uid === '') return { distrust: distrust ?? '', found: now };
  if (filed.uid !== now.uid) return { distrust: `the store is ${now.uid}, before it was ${filed.uid}`, found: now };
  const highest = Math.max(filed.revision, seen?.uid === filed.uid ? seen.revision : 0);
  if (now.revision < highest || distrust !== undefined)
    return { distrust: `the store is at revision ${now.revision}, before it was at ${highest}`, found: now };
  return undefined;
}

function sameVerdict({ distrust, found }: Filed, verdict: Verdict): boolean {
  return distrust === verdict.distrust && found !== undefined && tokenOf(found) === tokenOf(verdict.found);
}

function tokenOf({ uid, revision }: StoreIdentity): string {
  return `${uid}@${revision}`;
}

/** A file that cannot be understood says nothing about the store, so the store is not believed; whoever acknowledges it has looked. */
function parse(text: string, path: string): Filed {
  const value = jsonOf(text);
  if (!isObject(value) || typeof value.uid !== 'string' || typeof value.revision !== 'number')
    return { uid: '', revision: 0, distrust: `${path} holds no uid and revision` };
  const { uid, revision, distrust, found } = value;
  return {
    uid,
    revision,
    ...(typeof distrust === 'string' ? { distrust } : {}),
    ...(isIdentity(found) ? { found } : {}),
  };
}

function isIdentity(value: unknown): value is StoreIdentity {
  return isObject(value) && typeof value.uid === 'string' && typeof value.revision === 'number';
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
