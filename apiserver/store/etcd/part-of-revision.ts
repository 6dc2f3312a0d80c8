import type { Entry, RangeQuery } from '../store.ts';
import { entryOf, type Layout } from './layout.ts';
import type { RangeAnswer, RangeRequest } from './range-messages.ts';
import type { Revisions } from './revisions.ts';

interface Deps {
  readonly layout: Layout;
  readonly revisions: Revisions;
  readonly ask: (request: RangeRequest) => Promise<RangeAnswer>;
}

/** How the state at a revision is read. */
export interface ReadAt {
  /** At which of etcd's. */
  readonly theirs: number;
  /** What is other than there: as it was before, undefined for what was not there yet. */
  readonly undone: ReadonlyMap<string, Entry | undefined>;
}

/**
 * How a range is read at a revision, which may be in the middle of one of etcd's. When nothing of the range was changed in the part up to it, it is as it was
 * at the one before. Else several transactions share that one of etcd's: it is read at its end, and what came later is undone. None of them removed a key, and
 * none is changed twice in one of etcd's.
 */
export async function readAt(
  { prefix, after = '' }: RangeQuery,
  revision: number,
  { layout, revisions, ask }: Deps,
): Promise<ReadAt> {
  const theirs = revisions.theirs(revision);
  const before = revisions.whole(revision);
  if (before === theirs) return { theirs, undone: new Map() };
  const { pairs } = await ask({ keys: layout.span(prefix, after), revision: theirs, changedFrom: theirs });
  const later = pairs.filter((pair) => revisions.read(pair).revision > revision);
  if (later.length === pairs.length) return { theirs: before, undone: new Map() };
  const undone = later.map(async ({ key }) => {
    const name = layout.ours(key) ?? '';
    const [pair] = (await ask({ keys: key, revision: before })).pairs;
    return [name, pair && entryOf(pair, name, revisions)] as const;
  });
  return { theirs, undone: new Map(await Promise.all(undone)) };
}
