import type { Entry, RangeQuery } from '../store.ts';
import { entryOf, type Layout } from './layout.ts';
import type { RangeAnswer, RangeRequest } from './range-messages.ts';
import type { Revisions } from './revisions.ts';

interface Deps {
  readonly layout: Layout;
  readonly revisions: Revisions;
  readonly ask: (request: RangeRequest) => Promise<RangeAnswer>;
}

const NOTHING: ReadonlyMap<string, Entry | undefined> = new Map();

/**
 * Keys of a range that were changed after the revision asked for, and within the same one of etcd's: as they were before, undefined for those that were not
 * there. No key is changed twice in one of etcd's, so what was before is at the one before.
 */
export async function changedLater(
  { prefix, after = '', revision }: RangeQuery,
  { layout, revisions, ask }: Deps,
): Promise<ReadonlyMap<string, Entry | undefined>> {
  if (revision === undefined || revisions.whole(revision) === revisions.theirs(revision)) return NOTHING;
  const theirs = revisions.theirs(revision);
  const before = { revision: revisions.whole(revision) };
  const changed = await ask({ keys: layout.span(prefix, after), revision: theirs, changedFrom: theirs });
  const later = changed.pairs.filter((pair) => revisions.read(pair).revision > revision);
  return new Map(
    await Promise.all(
      later.map(async ({ key }) => {
        const name = layout.ours(key) ?? '';
        const [pair] = (await ask({ keys: key, ...before })).pairs;
        return [name, pair && entryOf(pair, name, revisions)] as const;
      }),
    ),
  );
}
