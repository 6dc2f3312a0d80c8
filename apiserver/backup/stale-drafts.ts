import { lstat, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Who writes a draft, as its name tells: a process that was killed leaves it behind. */
export interface DraftWriter {
  /** This process: `PID-HEX-HEX`. */
  readonly tag: string;
  /** Whether that process is known to have ended. */
  isGone(tag: string): Promise<boolean>;
}

const DRAFT = /^\.(?:(\d+-[0-9a-f]+-[0-9a-f]+)\.)?[0-9a-f]{8}\.unfinished$/;
/** No backup takes that long, wherever its writer is. */
const TOO_OLD_MS = 24 * 3600_000;

export const draftName = (path: string, { tag }: DraftWriter, secret: string): string =>
  `${path}.${tag}.${secret}.unfinished`;

/** Removes drafts of a file that nobody writes any more: their writer is gone, or they were last written to a day ago. */
export async function removeStaleDrafts(path: string, writer: DraftWriter, nowMs: number): Promise<void> {
  const [folder, name] = [dirname(path), basename(path)];
  // A folder may be written to and not be looked into.
  for (const found of await readdir(folder).catch(() => [])) {
    const match = found.startsWith(name) ? DRAFT.exec(found.slice(name.length)) : null;
    if (match === null) continue;
    const draft = join(folder, found);
    const [, tag] = match;
    const there = await lstat(draft).catch(() => undefined);
    if (there === undefined || !there.isFile()) continue;
    const stale = nowMs - there.mtimeMs > TOO_OLD_MS || (tag !== undefined && (await writer.isGone(tag)));
    // One that may not be removed is in nobody's way.
    if (stale) await rm(draft, { force: true }).catch(() => {});
  }
}
