import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type BuiltImage, buildTinyLinux } from '../../../nodelet/images/build-tiny-linux.ts';
import { PACKAGE_ROOT, testCache } from '../agent/agent-process.ts';

const TOOLS = ['/usr/bin/apt-get', '/usr/bin/dpkg-deb', '/usr/bin/gcc'];

/** Whether the image can be made here; says aloud why not. */
export function canBuildImage(): boolean {
  const missing = TOOLS.filter((tool) => !existsSync(tool));
  if (missing.length > 0) process.stderr.write(`skipped: the tiny image needs ${missing.join(', ')}\n`);
  return missing.length === 0;
}

/** Builds the image in a folder of the tests' cache (or elsewhere); packages are downloaded once for all. */
export async function tinyImage(
  outDir = join(testCache, 'images/tiny-linux'),
): Promise<BuiltImage & { readonly dir: string }> {
  const options = { outDir, cacheDir: join(testCache, 'debs'), packageRoot: PACKAGE_ROOT, report: () => {} };
  return { ...(await buildTinyLinux(options, AbortSignal.timeout(120_000))), dir: outDir };
}
