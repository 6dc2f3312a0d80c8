import { ANSWERS } from '../idempotency/kept-answer.ts';
import { BadKeyFileError } from '../pki/bad-key-file-error.ts';
import { parseEntries } from '../pki/key-entries.ts';
import { KEY_FILES } from '../pki/key-files.ts';
import { Sealer } from '../sealing/sealer.ts';
import type { KeyValue } from '../store/copy/fill-store.ts';
import type { BackupFile } from './backup-format.ts';

/** Secrets and the files of a pki folder that cannot open them do not belong together. */
export class ForeignSealsError extends Error {
  /** Of the keys that sealed, and are not there. */
  readonly missing: readonly string[];
  /** Of the keys that are there. */
  readonly there: readonly string[];

  constructor(missing: readonly string[], there: readonly string[]) {
    super(`Secrets are sealed with another key (${missing.join(', ')})`);
    this.name = 'ForeignSealsError';
    this.missing = missing;
    this.there = there;
  }
}

/** Finds out whether what a store holds was sealed with the keys of a pki folder. A server would refuse to start on what was not. */
export class ForeignSeals {
  readonly #ids = new Set<string>();

  /** To be called with everything the store holds. */
  look(entries: readonly KeyValue[]): void {
    for (const { key, value } of entries) {
      // Answers are kept for a day, and a server does without those it cannot open.
      const id = key.startsWith(ANSWERS) ? undefined : Sealer.keyIdOf(value);
      if (id !== undefined) this.#ids.add(id);
    }
  }

  /** Throws `ForeignSealsError` when a key is not in these files. Without any file there is nothing to compare with. */
  check(files: readonly BackupFile[]): void {
    const there = sealingKeyIds(files);
    const missing = [...this.#ids].filter((id) => !there.includes(id)).sort();
    if (files.length > 0 && missing.length > 0) throw new ForeignSealsError(missing, there);
  }
}

function sealingKeyIds(files: readonly BackupFile[]): readonly string[] {
  const { name, form, wanted, fingerprint } = KEY_FILES['sealing-key'];
  const file = files.find(({ path }) => path === name);
  if (file === undefined) return [];
  try {
    return parseEntries(name, Buffer.from(file.data).toString(), form, wanted).map(({ text }) => fingerprint(text));
  } catch (error) {
    // A file that holds no key is kept as it is, and opens nothing.
    if (error instanceof BadKeyFileError) return [];
    throw error;
  }
}
