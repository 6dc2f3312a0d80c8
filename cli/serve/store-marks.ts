import { readFileSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { writePrivate } from '../../apiserver/pki/write-private.ts';
import { syncPath } from '../../apiserver/store/sync-path.ts';
import { isObject } from '../../resources/meta/object.ts';
import { Failure } from '../failure.ts';

/** Beside the file of a store: its data was copied elsewhere, and nobody may serve from it any more. */
interface MovedMark {
  /** For people. */
  readonly to: string;
  /** RFC 3339. */
  readonly at: string;
  readonly uid: string;
}

const MOVED = '.moved';
const RESTORING = '.restoring';

/** Throws a `Failure` when the store at `path` is not complete, or was moved away. */
export function refuseMarked(path: string): void {
  const moved = movedMark(path);
  if (moved !== undefined)
    throw new Failure(`this store was moved to ${moved.to} on ${moved.at}: ${path} is only what it was then`, {
      hint: 'serve from there (--etcd), or take it back with "coppice migrate-store --take-back"',
    });
  if (isRestoring(path))
    throw new Failure(`a restore into ${path} did not come to its end`, {
      hint: `run "coppice restore" again, or remove ${path}${RESTORING} to begin with an empty store`,
    });
}

export function movedMark(path: string): MovedMark | undefined {
  const text = contentOf(path + MOVED);
  if (text === undefined) return undefined;
  const value: unknown = jsonOf(text);
  const known =
    isObject(value) && typeof value.to === 'string' && typeof value.at === 'string' && typeof value.uid === 'string';
  return known ? { to: value.to as string, at: value.at as string, uid: value.uid as string } : UNREADABLE;
}

export function markMoved(path: string, mark: MovedMark): void {
  writePrivate(path + MOVED, `${JSON.stringify(mark)}\n`);
}

export function unmarkMoved(path: string): void {
  remove(path + MOVED);
}

export function isRestoring(path: string): boolean {
  return contentOf(path + RESTORING) !== undefined;
}

export function markRestoring(path: string, from: string): void {
  writePrivate(path + RESTORING, `${JSON.stringify({ from })}\n`);
}

export function unmarkRestoring(path: string): void {
  remove(path + RESTORING);
}

/** A mark that cannot be read is one all the same. */
const UNREADABLE: MovedMark = { to: 'an unknown place', at: 'an unknown day', uid: '' };

function remove(path: string): void {
  rmSync(path, { force: true });
  syncPath(dirname(path));
}

function contentOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
