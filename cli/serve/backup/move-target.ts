import { existsSync } from 'node:fs';
import { removeSqlite, removeUnfinished, sqliteFilesAt } from '../../../apiserver/store/sqlite/unfinished.ts';
import type { StoreBirth, UnfinishedStore } from '../../../apiserver/store/store.ts';
import { silentLogger } from '../../../resources/ambient/log.ts';
import { systemClock } from '../../../resources/ambient/system-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { Failure } from '../../failure.ts';
import { isRestoring, markRestoring, movedMark, unmarkRestoring } from '../store-marks.ts';
import type { StoreOptions } from '../store-options.ts';

/** Where a restore or a move puts a store. */
export interface MoveTarget {
  /** For people. */
  readonly name: string;
  /** Throws a `Failure` that names what is there, unless it is nothing, or what an earlier try left. */
  checkEmpty(): Promise<void>;
  /** Removes what an earlier try left. */
  open(birth: StoreBirth): Promise<UnfinishedStore>;
}

/** The place that a store of these options has; `path` is that of the file in the home. */
export function targetOf(options: StoreOptions, path: string): MoveTarget {
  return options.kind === 'sqlite' ? fileTarget(path) : etcdTarget(options);
}

function fileTarget(path: string): MoveTarget {
  return {
    name: path,
    async checkEmpty() {
      const moved = movedMark(path);
      if (moved !== undefined)
        throw new Failure(`there is a store at ${path}, which was moved to ${moved.to} on ${moved.at}`, {
          hint: `use another --home, or move it away together with ${path}.moved`,
        });
      if (sqliteFilesAt(path) && !isRestoring(path))
        throw new Failure(`there is a store at ${path} already`, { hint: 'use another --home, or move it away' });
    },
    async open(birth) {
      const { openUnfinishedSqlite } = await import('../../../apiserver/store/sqlite/unfinished.ts');
      return openUnfinishedSqlite({ path, ids: systemIds }, birth);
    },
  };
}

function etcdTarget({ kind: _kind, ...given }: Extract<StoreOptions, { readonly kind: 'etcd' }>): MoveTarget {
  const options = { ...given, clock: systemClock, ids: systemIds, log: silentLogger };
  const name = `etcd at ${given.endpoints.join(', ')} under ${given.root}`;
  return {
    name,
    async checkEmpty() {
      const { whatIsInEtcd } = await import('../../../apiserver/store/etcd/unfinished.ts');
      const found = await whatIsInEtcd(options);
      if (found === undefined || found.unfinished === true) return;
      throw new Failure(`there is a store in ${name} already: ${found.uid}`, {
        hint: 'choose another prefix for the keys, or another etcd',
      });
    },
    async open(birth) {
      const { openUnfinishedEtcd } = await import('../../../apiserver/store/etcd/unfinished.ts');
      return openUnfinishedEtcd(options, birth);
    },
  };
}

/**
 * A restore into a home is one step for those who start there: until it is over `up` refuses. What an earlier try left there is removed first, the
 * store too: nobody can have served from it.
 */
export function beginRestoring(path: string, from: string): void {
  if (isRestoring(path)) removeSqlite(path);
  else if (existsSync(path)) throw new Failure(`there is a store at ${path} already`);
  markRestoring(path, from);
}

export function endRestoring(path: string): void {
  unmarkRestoring(path);
}

/** After a failure: leaves the home as it was, unless the store is in its place already. */
export function giveUpRestoring(path: string): void {
  if (sqliteFilesAt(path)) return;
  removeUnfinished(path);
  unmarkRestoring(path);
}
