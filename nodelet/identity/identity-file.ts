import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isObject } from '../../resources/meta/object.ts';

/** What a host is known by. PEM. */
export interface Credentials {
  /** Made here; it never leaves this machine. */
  readonly key: string;
  readonly certificate: string;
  /** The authorities that servers are trusted by. */
  readonly authorities: string;
}

/** What is kept of a host's identity. */
interface Kept {
  /** `token` is the one it was enrolled by: SHA-256 in hex. */
  readonly enrolled?: { readonly token: string; readonly credentials: Credentials };
  /** A key that a certificate is asked for by a token. */
  readonly pending?: { readonly token: string; readonly key: string };
}

/** A host's identity on disk, readable by its owner only: one file, so that key and certificate always belong together. */
export class IdentityFile {
  readonly path: string;

  /** `root` is the host's own folder. */
  constructor(root: string) {
    this.path = join(root, 'identity.json');
  }

  /** Undefined when there is none. Throws when the file holds something else. */
  async read(): Promise<Kept | undefined> {
    const text = await readFile(this.path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (text === undefined) return undefined;
    const kept = parse(text);
    // It is not made anew over one that somebody may still mend.
    if (kept === undefined) throw new Error(`${this.path} holds no identity; remove it and enroll the host again`);
    return kept;
  }

  /** Whole or not at all, and durable when this resolves. */
  async write(kept: Kept): Promise<void> {
    await mkdir(dirname(this.path), { recursive: true, mode: 0o700 });
    const draft = `${this.path}.tmp`;
    const file = await open(draft, 'w', 0o600);
    try {
      await file.writeFile(`${JSON.stringify(kept, undefined, 1)}\n`);
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(draft, this.path);
  }
}

function parse(text: string): Kept | undefined {
  const value = jsonOf(text);
  if (!isObject(value)) return undefined;
  const [enrolled, pending] = [enrolledIn(value.enrolled), pendingIn(value.pending)];
  if (enrolled === undefined && pending === undefined) return undefined;
  return { ...(enrolled && { enrolled }), ...(pending && { pending }) };
}

function enrolledIn(value: unknown): Kept['enrolled'] {
  if (!isObject(value) || typeof value.token !== 'string' || !isObject(value.credentials)) return undefined;
  const { key, certificate, authorities } = value.credentials;
  if (typeof key !== 'string' || typeof certificate !== 'string' || typeof authorities !== 'string') return undefined;
  return { token: value.token, credentials: { key, certificate, authorities } };
}

function pendingIn(value: unknown): Kept['pending'] {
  if (!isObject(value) || typeof value.token !== 'string' || typeof value.key !== 'string') return undefined;
  return { token: value.token, key: value.key };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
