import { createHash, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { JoinMaterial } from '../joining/server-joining.ts';
import { CA_KEYS, caKeyPath, readAuthorities } from './authority-files.ts';
import { formatEntries } from './key-entries.ts';
import { KEY_FILES, ROTATABLE, readKeyFile } from './key-files.ts';

/** What a new server is given of a folder. The operator's token stays in the kubeconfig of the home that has it. Throws `BadKeyFileError`. */
export function joinMaterialOf(folder: string): JoinMaterial {
  const authorities = readAuthorities(folder);
  const certificates = (readKeyFile(folder, 'ca') ?? []).map(({ text }) => new X509Certificate(text));
  const files = ROTATABLE.map((what) => {
    const entries = readKeyFile(folder, what) ?? [];
    const told = what === 'operator-token' ? entries.map((entry) => ({ ...entry, elsewhere: true as const })) : entries;
    return [KEY_FILES[what].name, formatEntries(told)] as const;
  });
  return {
    authorities: authorities === undefined ? [] : certificates.map(publicKeyHash),
    files: Object.fromEntries([...files, [CA_KEYS, readFileSync(caKeyPath(folder), 'utf8')]]),
  };
}

/** What an authority is known by from one certificate of it to the next. */
export function publicKeyHash({ publicKey }: X509Certificate): string {
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex');
}
