import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject } from '../../../resources/meta/object.ts';
import { Failure } from '../../failure.ts';
import { startFailure } from '../home.ts';

export type NodeletDriver = 'auto' | 'qemu' | 'sim';

/** What a home keeps of how its hosts are run, so that a start needs no flags. */
export interface KeptNodelet {
  readonly servers: readonly string[];
  readonly driver: NodeletDriver;
}

const FILE = 'nodelet.json';

/** Undefined where nothing was kept yet. Throws a `Failure` when the file holds something else. */
export function readKept(home: string): KeptNodelet | undefined {
  const path = join(home, FILE);
  if (!existsSync(path)) return undefined;
  const value = jsonIn(path);
  const { servers, driver } = isObject(value) ? value : {};
  const known = driver === 'auto' || driver === 'qemu' || driver === 'sim';
  if (!known || !Array.isArray(servers) || !servers.every((server) => typeof server === 'string'))
    throw new Failure(`${path} does not hold servers and a driver`, { hint: 'remove it, and give --server again' });
  return { servers, driver };
}

/** Whole or not at all. */
export function writeKept(home: string, kept: KeptNodelet): void {
  const path = join(home, FILE);
  const draft = `${path}.tmp`;
  try {
    writeFileSync(draft, `${JSON.stringify(kept, undefined, 1)}\n`, { mode: 0o600 });
    renameSync(draft, path);
  } catch (error) {
    throw startFailure(error, home);
  }
}

function jsonIn(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}
