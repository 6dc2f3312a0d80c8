import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseBytes } from '../../resources/meta/quantity.ts';
import { Failure } from '../failure.ts';

/** Where a control plane keeps its state. */
export type StoreOptions =
  /** `state.db` in the home. */
  | { readonly kind: 'sqlite' }
  | {
      readonly kind: 'etcd';
      /** `host:port` each, or with `http://` or `https://` before it. */
      readonly endpoints: readonly string[];
      /** What all keys begin with. */
      readonly root: string;
      /** What its database may grow to, in bytes; undefined: what etcd takes when nobody says. */
      readonly quotaBytes?: number;
      /** PEM. */
      readonly tls?: { readonly ca: string; readonly cert?: string; readonly key?: string };
      readonly auth?: { readonly username: string; readonly password: string };
    };

/** What `storeFlags` give. */
export interface StoreFlags {
  readonly etcd?: string | undefined;
  readonly 'etcd-root'?: string | undefined;
  readonly 'etcd-quota'?: string | undefined;
  readonly 'etcd-ca'?: string | undefined;
  readonly 'etcd-cert'?: string | undefined;
  readonly 'etcd-key'?: string | undefined;
  readonly 'etcd-user'?: string | undefined;
}

/** What `targetStoreFlags` give, and `--to-sqlite`. */
export interface TargetStoreFlags {
  readonly 'to-sqlite': boolean;
  readonly 'to-etcd'?: string | undefined;
  readonly 'to-etcd-root'?: string | undefined;
  readonly 'to-etcd-ca'?: string | undefined;
  readonly 'to-etcd-cert'?: string | undefined;
  readonly 'to-etcd-key'?: string | undefined;
  readonly 'to-etcd-user'?: string | undefined;
}

const ENDPOINT = /^(https?:\/\/)?(\[[0-9a-fA-F:]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})$/;
const ROOT = /^[A-Za-z0-9._-]+(\/[A-Za-z0-9._-]+)*$/;
const DEFAULT_ROOT = 'coppice';

/**
 * Checks the flags against each other and fills in `$COPPICE_ETCD`; the password of `--etcd-user` is in `$COPPICE_ETCD_PASSWORD` only, as a command
 * line is for everybody to see. Throws a `Failure` that names the flag.
 */
export function storeOptions(
  flags: StoreFlags,
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): StoreOptions {
  const endpoints = endpointsIn(flags.etcd ?? (env.COPPICE_ETCD || undefined));
  if (endpoints === undefined) {
    const lone = Object.entries(flags).find(([name, value]) => name.startsWith('etcd-') && value !== undefined);
    if (lone !== undefined) throw new Failure(`--${lone[0]} is for a store in etcd`, { hint: 'add --etcd HOST:PORT' });
    return { kind: 'sqlite' };
  }
  const root = flags['etcd-root'] ?? DEFAULT_ROOT;
  if (!ROOT.test(root))
    throw new Failure(`--etcd-root is "${root}": letters, digits and ._- only, with slashes between them`);
  const [tls, auth, quotaBytes] = [tlsOf(flags, cwd), authOf(flags, env), quotaOf(flags)];
  return {
    kind: 'etcd',
    endpoints,
    root,
    ...(quotaBytes && { quotaBytes }),
    ...(tls && { tls }),
    ...(auth && { auth }),
  };
}

function quotaOf({ 'etcd-quota': text }: StoreFlags): number | undefined {
  if (text === undefined) return undefined;
  const bytes = parseBytes(text);
  if (!bytes)
    throw new Failure(`--etcd-quota is "${text}", which is no size`, { hint: 'write it as 8Gi, or in bytes' });
  return bytes;
}

/** Where a store is to go; undefined where nothing is said of it. The password is in `$COPPICE_TO_ETCD_PASSWORD`. Throws a `Failure` that names the flag. */
export function targetStoreOptions(
  flags: TargetStoreFlags,
  { COPPICE_TO_ETCD_PASSWORD }: Readonly<Record<string, string | undefined>>,
  cwd: string,
): StoreOptions | undefined {
  const given = Object.entries(flags).flatMap(([name, value]) =>
    name.startsWith('to-etcd') && typeof value === 'string' ? [[name.slice('to-'.length), value] as const] : [],
  );
  if (flags['to-sqlite']) {
    if (given.length > 0) throw new Failure('--to-sqlite and --to-etcd are two places', { hint: 'name one of them' });
    return { kind: 'sqlite' };
  }
  if (given.length === 0) return undefined;
  try {
    return storeOptions(Object.fromEntries(given), { COPPICE_ETCD_PASSWORD: COPPICE_TO_ETCD_PASSWORD }, cwd);
  } catch (error) {
    throw error instanceof Failure ? forTarget(error) : error;
  }
}

/** The same failure for a target, whose flags have names of their own. */
export function forTarget({ message, hint, cause }: Failure): Failure {
  const renamed = (text: string) =>
    text.replaceAll('--etcd', '--to-etcd').replaceAll('$COPPICE_ETCD', '$COPPICE_TO_ETCD');
  return new Failure(renamed(message), { ...(hint === undefined ? {} : { hint: renamed(hint) }), cause });
}

function endpointsIn(text: string | undefined): readonly string[] | undefined {
  if (text === undefined) return undefined;
  const endpoints = text.split(',').map((part) => part.trim());
  for (const endpoint of endpoints) {
    const [, , , port] = ENDPOINT.exec(endpoint) ?? [];
    if (port === undefined || Number(port) > 65535 || Number(port) === 0)
      throw new Failure(`--etcd: "${endpoint}" is not HOST:PORT`, { hint: 'several members are given with commas' });
  }
  return endpoints;
}

function tlsOf(flags: StoreFlags, cwd: string) {
  const { 'etcd-ca': ca, 'etcd-cert': cert, 'etcd-key': key } = flags;
  if ((cert === undefined) !== (key === undefined))
    throw new Failure(
      `--etcd-${cert === undefined ? 'key' : 'cert'} needs --etcd-${cert === undefined ? 'cert' : 'key'}`,
    );
  if (ca === undefined) {
    if (cert !== undefined)
      throw new Failure('--etcd-cert needs --etcd-ca', { hint: 'the CA that etcd’s own certificate is of' });
    return undefined;
  }
  const read = (flag: string, path: string) => fileOf(flag, resolve(cwd, path));
  return {
    ca: read('etcd-ca', ca),
    ...(cert !== undefined && key !== undefined && { cert: read('etcd-cert', cert), key: read('etcd-key', key) }),
  };
}

function fileOf(flag: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Failure(`--${flag}: ${path} ${code === 'ENOENT' ? 'is not there' : `cannot be read (${code})`}`, {
      cause: error,
    });
  }
}

function authOf(flags: StoreFlags, env: Readonly<Record<string, string | undefined>>) {
  const { 'etcd-user': username } = flags;
  if (username === undefined) return undefined;
  const { COPPICE_ETCD_PASSWORD: password } = env;
  if (!password) throw new Failure('--etcd-user needs its password in $COPPICE_ETCD_PASSWORD');
  return { username, password };
}
