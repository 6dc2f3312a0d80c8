import { existsSync } from 'node:fs';
import type { BackupFile } from '../../../apiserver/backup/backup-format.ts';
import { readBackup } from '../../../apiserver/backup/read-backup.ts';
import { storeBackup } from '../../../apiserver/backup/serve-backup.ts';
import { writeBackup } from '../../../apiserver/backup/write-backup.ts';
import { type Store, StoreError } from '../../../apiserver/store/store.ts';
import { silentLogger } from '../../../resources/ambient/log.ts';
import { systemClock } from '../../../resources/ambient/system-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { Failure } from '../../failure.ts';
import type { Io } from '../../io.ts';
import { openSession, type Session } from '../../session.ts';
import { refuseMarked } from '../store-marks.ts';
import type { StoreOptions } from '../store-options.ts';

interface SourceOptions {
  readonly store: StoreOptions;
  /** The file of the store of a home. */
  readonly path: string;
  /** Set when a server is to be asked: that of this kubeconfig. */
  readonly kubeconfig: string | undefined;
  /** Of the server that has the store of the home open. */
  readonly homeKubeconfig: string;
  readonly product: string;
}

/** Where a backup comes from. */
export interface OpenSource extends AsyncDisposable {
  /** For people. */
  readonly from: string;
  /** The lines of a backup of what is there now, with these files in it. */
  lines(files: readonly BackupFile[], signal: AbortSignal): AsyncIterable<Buffer>;
}

/**
 * Etcd is read itself, with or without servers on it. The store of a home is one process's alone: where one has it open, that one is asked over its
 * API, else the file is read. Throws a `Failure` or `StoreError`.
 */
export async function openSource(io: Io, options: SourceOptions): Promise<OpenSource> {
  const { store, path, product, kubeconfig } = options;
  if (kubeconfig !== undefined) return served(await openSession(io, targetOf(kubeconfig)), product);
  if (store.kind === 'etcd') return direct(await openExistingEtcd(store, false), `etcd at ${store.endpoints}`, product);
  refuseMarked(path);
  if (!existsSync(path))
    throw new Failure(`there is no store at ${path}`, { hint: 'name its home with --home, or its etcd with --etcd' });
  try {
    const { SqliteStore } = await import('../../../apiserver/store/sqlite/store.ts');
    return direct(await SqliteStore.open({ path, ids: systemIds }), path, product);
  } catch (error) {
    if (!(error instanceof StoreError) || error.reason !== 'Busy') throw error;
    return served(await openSession(io, targetOf(options.homeKubeconfig)), product);
  }
}

/** A store that must be there, to be read. One that was moved away is opened only when told. */
export async function openExistingEtcd(
  { kind: _kind, ...etcd }: Extract<StoreOptions, { readonly kind: 'etcd' }>,
  movedToo: boolean,
): Promise<Store> {
  const [{ openEtcdStoreAs }, { existingIdentity }] = await Promise.all([
    import('../../../apiserver/store/etcd/open-store.ts'),
    import('../../../apiserver/store/etcd/identity.ts'),
  ]);
  const options = { ...etcd, clock: systemClock, ids: systemIds, log: silentLogger };
  return openEtcdStoreAs(options, (connection, layout) => existingIdentity(connection, layout, movedToo), 'read');
}

function direct(store: Store, from: string, product: string): OpenSource {
  return {
    from,
    lines: (files, signal) => storeBackup({ store, clock: systemClock, product, files }, signal),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

function served(session: Session, product: string): OpenSource {
  return {
    from: session.connection.server,
    lines: (files, signal) => fromServer(session, files, product, signal),
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  };
}

/** What the server sends, checked to its end, with the files that it does not have put in. */
async function* fromServer(
  { client }: Session,
  files: readonly BackupFile[],
  product: string,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const records = readBackup(await client.stream({ method: 'GET', path: '/backup', signal }));
  const first = await records.next();
  if (first.done === true || first.value.kind !== 'header') throw new TypeError('a backup without a header');
  const pages = async function* () {
    for await (const record of records) if (record.kind === 'keys') yield record.entries;
  };
  yield* writeBackup({ ...first.value.header, product, files: files.length }, files, pages());
}

const targetOf = (kubeconfig: string) => ({ kubeconfig, context: undefined, namespace: undefined });
