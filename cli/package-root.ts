import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The folder of the package: the checkout, or where it is installed. This file is in `cli/`, or `dist/cli/` once compiled. */
export function packageRoot(): string {
  const up = fileURLToPath(new URL('../', import.meta.url));
  return existsSync(`${up}package.json`) ? up : fileURLToPath(new URL('../../', import.meta.url));
}
