import { createHash } from 'node:crypto';
import type { KeyValue } from '../store/copy/fill-store.ts';
import { type BackupFile, type BackupHeader, fileLine, keyLine } from './backup-format.ts';
import { ForeignSeals } from './foreign-seals.ts';

/**
 * The lines of a backup, in pieces as large as the pages they come from. `header.keys` is what they must add up to. Throws `ForeignSealsError` at the end
 * when the files have not the keys that the store was sealed with.
 */
export async function* writeBackup(
  header: BackupHeader,
  files: readonly BackupFile[],
  pages: AsyncIterable<readonly KeyValue[]>,
): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  const piece = (text: string) => {
    const bytes = Buffer.from(text);
    hash.update(bytes);
    return bytes;
  };
  yield piece(`${JSON.stringify(header)}\n`);
  for (const file of files) yield piece(fileLine(file));
  const seals = new ForeignSeals();
  let keys = 0;
  for await (const page of pages) {
    keys += page.length;
    seals.look(page);
    yield piece(page.map(keyLine).join(''));
  }
  if (keys !== header.keys) throw new RangeError(`the store told of ${header.keys} keys and gave ${keys}`);
  seals.check(files);
  yield Buffer.from(`${JSON.stringify({ end: { files: files.length, keys }, sha256: hash.digest('hex') })}\n`);
}
