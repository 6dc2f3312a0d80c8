import { join } from 'node:path';
import { fillStore } from '../../../apiserver/store/copy/fill-store.ts';
import { firstDifference } from '../../../apiserver/store/copy/first-difference.ts';
import { storePages } from '../../../apiserver/store/copy/store-pages.ts';
import type { Store, UnfinishedStore } from '../../../apiserver/store/store.ts';
import { systemClock } from '../../../resources/ambient/system-clock.ts';
import { Failure } from '../../failure.ts';
import { type Io, printLine } from '../../io.ts';
import { openHome } from '../home.ts';
import { lockHome } from '../lock-home.ts';
import { forTarget, type StoreOptions } from '../store-options.ts';
import { explainFailure } from './explain-failure.ts';
import { type MoveSource, sourceOf } from './move-source.ts';
import { type MoveTarget, targetOf } from './move-target.ts';
import { Progress } from './progress.ts';

export interface MigrateOptions {
  /** Absolute. */
  readonly home: string;
  readonly from: StoreOptions;
  readonly to: StoreOptions;
}

/**
 * Copies a store to another place and closes the old one. It stays the same store: its uid, and revisions that go on from where they were. At every
 * moment at most one of the two can be served from, and whatever ends this process, running it again goes on. Throws a `Failure`.
 */
export async function runMigrate(io: Io, { home: folder, from, to }: MigrateOptions): Promise<void> {
  const path = join(folder, 'state.db');
  try {
    const home = openHome(folder);
    using _lock = await lockHome(home);
    const [source, target] = [sourceOf(from, path), targetOf(to, path)];
    await checkBoth(source, target);
    const { store, revision, keys } = await move(io, source, target);
    printLine(io, `moved ${keys} objects and records of store ${store} from ${source.name} to ${target.name}`);
    printLine(io, `revisions go on from ${revision}; ${source.name} is closed`);
  } catch (error) {
    io.signal.throwIfAborted();
    throw explained(error, from, to);
  }
}

/** At most one of the two places is etcd; where it is the second, flags of other names told of it. */
function explained(error: unknown, from: StoreOptions, to: StoreOptions | undefined): unknown {
  if (from.kind === 'etcd' || to === undefined) return explainFailure(error, from);
  const failure = explainFailure(error, to);
  return failure instanceof Failure ? forTarget(failure) : failure;
}

/** One that says it went here goes on; one that went elsewhere is nothing but a copy. */
async function checkBoth(source: MoveSource, target: MoveTarget): Promise<void> {
  const moved = await source.moved();
  if (moved === undefined) return target.checkEmpty();
  if (moved.to === target.name)
    return target.checkEmpty().catch((cause: unknown) => {
      if (!(cause instanceof Failure)) throw cause;
      throw new Failure(`the store of ${source.name} was moved to ${moved.to} on ${moved.at} already`, { cause });
    });
  throw new Failure(`the store of ${source.name} was moved to ${moved.to} on ${moved.at}`, {
    hint: 'move it on from there, or take it back first with --take-back',
  });
}

async function move(io: Io, source: MoveSource, target: MoveTarget) {
  using progress = new Progress(io);
  const mark = { to: target.name, at: new Date(systemClock.now()).toISOString() };
  await using original = await source.open(mark);
  const revision = (await original.latest?.(io)) ?? original.revision();
  const origin = original.origin === undefined ? {} : { origin: original.origin };
  await using unfinished = await target.open({ uid: original.uid, revision, ...origin });
  const keys = await fillStore(unfinished.store, storePages(original, revision, io.signal), io.signal, (written) =>
    progress.say(`copying: ${written} keys`),
  );
  progress.say('comparing the copy with the original');
  await compare(io, original, unfinished);
  await source.close(original.uid, mark);
  await unfinished.finish();
  return { store: original.uid, revision, keys };
}

/** With what the original holds by now: a process that was slow to hear that it is closed may have written to it. */
async function compare(io: Io, original: Store, { store }: UnfinishedStore): Promise<void> {
  const latest = (await original.latest?.(io)) ?? original.revision();
  const difference = await firstDifference(
    storePages(original, latest, io.signal),
    storePages(store, store.revision(), io.signal),
  );
  if (difference === undefined) return;
  throw new Failure(`the copy is not what the original is: ${difference.key} is ${difference.how}`, {
    hint: 'something may still write to it: stop every server, and run this again',
  });
}

export interface TakeBackOptions {
  /** Absolute. */
  readonly home: string;
  readonly from: StoreOptions;
  /** Where it went; undefined: that place is gone for good. */
  readonly to: StoreOptions | undefined;
}

/**
 * Lets a store that was moved be served from again, as it was then; what was written since is not in it. The place it went to is closed first. Throws a
 * `Failure`.
 */
export async function runTakeBack(io: Io, { home: folder, from, to }: TakeBackOptions): Promise<void> {
  const path = join(folder, 'state.db');
  try {
    const home = openHome(folder);
    using _lock = await lockHome(home);
    const source = sourceOf(from, path);
    const moved = await source.moved();
    if (moved === undefined) throw new Failure(`the store of ${source.name} was never moved`);
    if (to !== undefined) await closeTarget(sourceOf(to, path), moved.to, source.name);
    await source.reopen();
    printLine(io, `${source.name} can be served from again, as it was on ${moved.at}`);
    printLine(io, 'hosts stop and remove nothing until: coppice host trust-store --all');
  } catch (error) {
    io.signal.throwIfAborted();
    throw explained(error, from, to);
  }
}

async function closeTarget(target: MoveSource, to: string, source: string): Promise<void> {
  if (target.name !== to) throw new Failure(`the store went to ${to}, not to ${target.name}`);
  const mark = { to: source, at: new Date(systemClock.now()).toISOString() };
  await target.closeIfThere(mark);
}
