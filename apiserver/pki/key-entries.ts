import { BadKeyFileError } from './bad-key-file-error.ts';

/**
 * One key or certificate of a file of the pki folder that may hold several. The first is in use; the others are trusted beside it, because
 * they were in use before, or will be (`next`).
 */
export interface KeyEntry {
  /** PEM, or a line of hex. */
  readonly text: string;
  /** When it was made, as RFC 3339. Not known of what was made before this was written down. */
  readonly since?: string;
  /** When it ends, as RFC 3339. */
  readonly until?: string;
  /** Whether it waits for every server to know it before it is used. */
  readonly next?: true;
  /** Whether it is the hash of a token that another home's kubeconfig holds, so that none is made in its place here. */
  readonly elsewhere?: true;
}

const REMARK = /^# (since|until) (\S+)$/;
const FLAG = /^# (next|elsewhere)$/;

/**
 * The entries of a file. Remarks (`# since …`, `# until …`, `# next`, `# elsewhere`) are about the entry they stand before; files of before there were any read as
 * they did. Throws `BadKeyFileError`, which says what belongs there.
 */
export function parseEntries(path: string, content: string, form: 'pem' | 'hex', wanted: string): readonly KeyEntry[] {
  const entries: KeyEntry[] = [];
  let remarks: Omit<KeyEntry, 'text'> = {};
  let block: string[] | undefined;
  const take = (text: string) => {
    entries.push({ text, ...remarks });
    remarks = {};
  };
  for (const line of content.split('\n').map((each) => each.trimEnd())) {
    const [, name, value] = REMARK.exec(line) ?? [];
    const [, flag] = FLAG.exec(line) ?? [];
    if (block !== undefined) {
      block.push(line);
      if (!line.startsWith('-----END ')) continue;
      take(`${block.join('\n')}\n`);
      block = undefined;
    } else if (name !== undefined) remarks = { ...remarks, [name]: value };
    else if (flag !== undefined) remarks = { ...remarks, [flag]: true };
    else if (form === 'pem' && line.startsWith('-----BEGIN ')) block = [line];
    else if (form === 'hex' && line.trim() !== '' && !line.startsWith('#')) take(line.trim());
  }
  if (entries.length === 0 || block !== undefined) throw new BadKeyFileError(path, wanted);
  return entries;
}

/** What `parseEntries` reads. */
export function formatEntries(entries: readonly KeyEntry[]): string {
  return entries
    .map(({ text, since, until, next, elsewhere }) => {
      const remarks = [
        ...(since === undefined ? [] : [`# since ${since}`]),
        ...(until === undefined ? [] : [`# until ${until}`]),
        ...(next === true ? ['# next'] : []),
        ...(elsewhere === true ? ['# elsewhere'] : []),
      ];
      return [...remarks, text.trimEnd(), ''].join('\n');
    })
    .join('');
}
