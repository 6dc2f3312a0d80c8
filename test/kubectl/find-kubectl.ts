import { execFileSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The first kubectl on PATH when it is 1.30 or newer, else why it cannot be used. */
export function kubectlPath(): string | { readonly why: string } {
  const path = (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'kubectl'))
    .find(isExecutable);
  if (path === undefined) return { why: 'no kubectl on PATH' };
  const version = execFileSync(path, ['version', '--client', '-o', 'json'], { encoding: 'utf8' });
  const { gitVersion } = (JSON.parse(version) as { clientVersion: { gitVersion: string } }).clientVersion;
  const minor = Number(/^v1\.(\d+)/.exec(gitVersion)?.[1] ?? 0);
  return minor >= 30 ? path : { why: `kubectl on PATH is ${gitVersion}; 1.30 or newer is needed` };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
