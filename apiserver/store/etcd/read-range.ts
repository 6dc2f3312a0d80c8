import type { Entry, RangeQuery, RangeResult } from '../store.ts';
import { EtcdCallError } from './call-error.ts';
import type { EtcdConnection } from './connection.ts';
import { entryOf, type Layout } from './layout.ts';
import { readAt } from './part-of-revision.ts';
import { decodeRange, encodeRange, RANGE_PATH, type RangeRequest } from './range-messages.ts';
import type { Revisions } from './revisions.ts';

const PAGE = 1000;
const NOTHING: ReadonlyMap<string, Entry | undefined> = new Map();

/**
 * A range in pages at one revision, that of the first page unless one is asked for. A page too big for one answer is asked for again in smaller
 * ones. `at` is told the revision once it is known.
 */
export async function readRange(
  { connection, layout, revisions }: { connection: EtcdConnection; layout: Layout; revisions: Revisions },
  query: RangeQuery,
  at: (revision: number) => void,
  signal: AbortSignal | undefined,
): Promise<RangeResult> {
  const { prefix, limit = Number.MAX_SAFE_INTEGER } = query;
  const send = (request: RangeRequest) => connection.ask(RANGE_PATH, encodeRange(request), signal);
  const ask = async (request: RangeRequest) => decodeRange(await send(request));
  const entries: Entry[] = [];
  let { after = '', revision } = query;
  const place = revision === undefined ? undefined : await readAt(query, revision, { layout, revisions, ask });
  const undone = place?.undone ?? NOTHING;
  let pinned = place && { revision: place.theirs };
  for (let page = PAGE; ; ) {
    const wanted = Math.min(page, limit - entries.length);
    const size = limit === 0 ? { countOnly: true } : { limit: wanted };
    const found = await send({ keys: layout.span(prefix, after), ...pinned, ...size }).catch(unlessTooBig(wanted));
    if (found === undefined) {
      page = Math.ceil(wanted / 4);
      continue;
    }
    const answer = decodeRange(found);
    revision ??= revisions.ours(answer.revision);
    pinned ??= { revision: answer.revision };
    at(revision);
    for (const pair of answer.pairs) {
      after = layout.ours(pair.key) ?? '';
      const entry = undone.has(after) ? undone.get(after) : entryOf(pair, after, revisions);
      if (entry !== undefined) entries.push(entry);
    }
    const remaining = answer.count - answer.pairs.length;
    if (remaining === 0 || entries.length >= limit)
      return { entries, revision, remaining: remaining - createdBehind(after, undone) };
  }
}

/** Keys behind one that were not there yet. */
function createdBehind(after: string, undone: ReadonlyMap<string, Entry | undefined>): number {
  return [...undone].filter(([key, entry]) => key > after && entry === undefined).length;
}

function unlessTooBig(wanted: number): (error: unknown) => undefined {
  return (error) => {
    if (error instanceof EtcdCallError && error.failure === 'AnswerTooBig' && wanted > 1) return undefined;
    throw error;
  };
}
