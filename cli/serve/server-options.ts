import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { labelProblems } from '../../resources/meta/names.ts';
import { Failure } from '../failure.ts';
import { type StoreFlags, type StoreOptions, storeOptions } from './store-options.ts';

/** What an API server was asked for, with defaults filled in. */
export interface ServerOptions {
  /** Absolute. */
  readonly home: string;
  readonly store: StoreOptions;
  /** Absolute: keys and certificates that other servers use too; the home's own where there is none. */
  readonly pki: string | undefined;
  /** Undefined for the one the home has. */
  readonly name: string | undefined;
  readonly listen: string;
  /** 0 is any free port. */
  readonly port: number;
  /** The origin that others reach it at; undefined for the one it listens on. */
  readonly advertise: string | undefined;
  /** What else it is reached by, such as the name of a load balancer. */
  readonly names: readonly string[];
}

export interface ServerFlags extends StoreFlags {
  readonly home: string;
  readonly pki: string | undefined;
  readonly name: string | undefined;
  readonly listen: string | undefined;
  readonly port: number | undefined;
  readonly advertise: string | undefined;
  readonly 'tls-san': string | undefined;
}

const DEFAULT_PORT = 7799;
const LOOPBACK = '127.0.0.1';
/** A server for this machine, by itself. */
export const ALONE: Pick<ServerOptions, 'pki' | 'name' | 'listen' | 'advertise' | 'names'> = {
  pki: undefined,
  name: undefined,
  listen: LOOPBACK,
  advertise: undefined,
  names: [],
};

const DNS_NAME = /^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$/;

/** Checks flags and fills in the environment and defaults. Throws a `Failure` that names the flag. */
export function serverOptions(
  flags: ServerFlags,
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): ServerOptions {
  const { name, listen = LOOPBACK } = flags;
  if (name !== undefined && labelProblems(name).length > 0)
    throw new Failure(`--name is "${name}": at most 63 lowercase letters, digits and dashes`);
  if (isIP(listen) === 0)
    throw new Failure(`--listen is "${listen}", which is not an address`, { hint: '0.0.0.0 listens on all of them' });
  return {
    home: folderIn('home', flags.home, cwd),
    store: storeOptions(flags, env, cwd),
    pki: flags.pki === undefined ? undefined : folderIn('pki', flags.pki, cwd),
    name,
    listen,
    port: flags.port ?? portFrom(env.COPPICE_PORT),
    advertise: flags.advertise === undefined ? undefined : originIn(flags.advertise),
    names: namesIn(flags['tls-san']),
  };
}

export function folderIn(flag: 'home' | 'pki', text: string, cwd: string): string {
  const hint = flag === 'home' ? 'name a folder, or leave it out for ~/.coppice' : 'name a folder, or leave it out';
  if (text === '') throw new Failure(`--${flag} is empty`, { hint });
  return resolve(cwd, text);
}

export function portFrom(text: string | undefined): number {
  if (text === undefined || text === '') return DEFAULT_PORT;
  const port = Number(text);
  if (!/^[0-9]+$/.test(text) || port > 65535) throw new Failure(`COPPICE_PORT is "${text}", which is not a port`);
  return port;
}

function originIn(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'https:' || `${url.origin}/` !== url.href)
    throw new Failure(`--advertise is "${text}", which is not https://HOST:PORT`);
  return url.origin;
}

function namesIn(text = ''): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  if (text === '') return [];
  for (const name of names) {
    if (isIP(name) === 0 && !DNS_NAME.test(name))
      throw new Failure(`--tls-san: "${name}" is neither a name nor an address`, {
        hint: 'several are given with commas',
      });
  }
  return names;
}
