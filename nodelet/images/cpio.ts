/** One thing in an archive. Everything belongs to root and has no times, so that equal contents make equal archives. */
export type CpioEntry = { readonly path: string; readonly permissions: number } & (
  | { readonly kind: 'file'; readonly bytes: Uint8Array }
  | { readonly kind: 'directory' }
  | { readonly kind: 'link'; readonly target: string }
  | { readonly kind: 'character device'; readonly major: number; readonly minor: number }
);

const TYPE_BITS = { file: 0o100000, directory: 0o040000, link: 0o120000, 'character device': 0o020000 } as const;
const PATH = /^[^/\0]+(\/[^/\0]+)*$/;

/**
 * A cpio archive (newc) for the kernel's initramfs: entries sorted by path, a folder before what is in it.
 * Throws when a path is absolute, comes twice, or lies in no folder of the archive.
 */
export function cpio(entries: readonly CpioEntry[]): Uint8Array {
  const sorted = [...entries].sort((a, b) => (a.path < b.path ? -1 : 1));
  const folders = new Set<string>();
  const parts: Uint8Array[] = [];
  for (const [index, entry] of sorted.entries()) {
    check(entry, sorted[index - 1], folders);
    if (entry.kind === 'directory') folders.add(entry.path);
    parts.push(...member(entry, index + 1));
  }
  parts.push(...member({ path: 'TRAILER!!!', permissions: 0, kind: 'file', bytes: new Uint8Array(0) }, 0, 0));
  return Buffer.concat(parts);
}

function check(entry: CpioEntry, before: CpioEntry | undefined, folders: ReadonlySet<string>): void {
  if (!PATH.test(entry.path)) throw new Error(`not a path for an archive: "${entry.path}"`);
  if (entry.path === before?.path) throw new Error(`twice in the archive: ${entry.path}`);
  const folder = entry.path.slice(0, Math.max(0, entry.path.lastIndexOf('/')));
  if (folder !== '' && !folders.has(folder)) throw new Error(`${entry.path} is in no folder of the archive`);
}

function member(entry: CpioEntry, inode: number, type: number = TYPE_BITS[entry.kind]): Uint8Array[] {
  const name = Buffer.from(`${entry.path}\0`, 'utf8');
  const body = entry.kind === 'file' ? entry.bytes : Buffer.from(entry.kind === 'link' ? entry.target : '', 'utf8');
  const [major, minor] = entry.kind === 'character device' ? [entry.major, entry.minor] : [0, 0];
  const links = entry.kind === 'directory' ? 2 : 1;
  // inode, mode, uid, gid, links, time, size, device (2), own device (2), name length, checksum
  const fields = [inode, type | entry.permissions, 0, 0, links, 0, body.length, 0, 0, major, minor, name.length, 0];
  const header = Buffer.from(`070701${fields.map((field) => field.toString(16).padStart(8, '0')).join('')}`, 'latin1');
  return [header, name, padding(header.length + name.length), body, padding(body.length)];
}

function padding(length: number): Uint8Array {
  return new Uint8Array((4 - (length % 4)) % 4);
}
