import { join, resolve } from 'node:path';
import { coppiceHome, type Io } from '../../io.ts';
import { type StoreFlags, type StoreOptions, storeOptions } from '../store-options.ts';

/** Where an installation keeps what it knows. Paths are absolute. */
export interface Place {
  readonly home: string;
  readonly store: StoreOptions;
  /** Where the keys are, or go. */
  readonly pki: string;
}

/** Throws a `Failure` that names the flag that is wrong. */
export function placeOf(
  io: Io,
  flags: StoreFlags & { readonly home: string | undefined; readonly pki: string | undefined },
): Place {
  const { cwd, env } = io;
  const home = resolve(cwd, coppiceHome(io, flags.home));
  const pki = flags.pki === undefined ? join(home, 'pki') : resolve(cwd, flags.pki);
  return { home, store: storeOptions(flags, env, cwd), pki };
}
