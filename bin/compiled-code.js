// Keeps compiled and type-stripped code between runs. It lies where only the owner of the code, or this user, can write: whoever could
// change it could run code as us, which rules out Node.js's own default, a folder below /tmp.
import { mkdirSync } from 'node:fs';
import { constants, enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Takes the first folder that can be written, or goes without: nothing depends on it. Workers find it in the environment. */
export function keepCompiledCode() {
  if (process.env.NODE_COMPILE_CACHE !== undefined || process.env.NODE_DISABLE_COMPILE_CACHE !== undefined) return;
  const { ENABLED } = constants.compileCacheStatus;
  for (const folder of folders()) {
    if (!canMake(folder) || enableCompileCache(folder).status !== ENABLED) continue;
    process.env.NODE_COMPILE_CACHE = folder;
    return;
  }
}

function folders() {
  const own = fileURLToPath(new URL('../node_modules/.cache/coppice/code', import.meta.url));
  return [own, join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'coppice', 'code')];
}

function canMake(folder) {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return true;
  } catch {
    return false;
  }
}
