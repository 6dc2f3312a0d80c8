import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';

/** A folder whose path begins like this. It goes with `held`, or with this process where that ends first. */
export async function temporaryFolder(prefix: string, held: AsyncDisposableStack): Promise<string> {
  const folder = await mkdtemp(prefix);
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  process.once('exit', remove);
  held.defer(async () => {
    process.removeListener('exit', remove);
    await rm(folder, { recursive: true, force: true });
  });
  return folder;
}
