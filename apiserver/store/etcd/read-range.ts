import type { Entry, RangeQuery, RangeResult } from '../store.ts';
import { EtcdCallError } from './call-error.ts';
import type { EtcdConnection } from './connection.ts';
import { entryOf, type Layout, type Revisions } from './layout.ts';
import { decodeRange, encodeRange, RANGE_PATH, type RangeRequest } from './range-messages.ts';

const PAGE = 1000;

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
  const ask = (request: RangeRequest) => connection.ask(RANGE_PATH, encodeRange(request), signal);
  const entries: Entry[] = [];
  let { after = '', revision } = query;
  for (let page = PAGE; ; ) {
    const wanted = Math.min(page, limit - entries.length);
    const pinned = revision === undefined ? {} : { revision: revisions.theirs(revision) };
    const size = limit === 0 ? { countOnly: true } : { limit: wanted };
    const found = await ask({ keys: layout.span(prefix, after), ...pinned, ...size }).catch(unlessTooBig(wanted));
    if (found === undefined) {
      page = Math.ceil(wanted / 4);
      continue;
    }
    const answer = decodeRange(found);
    revision ??= revisions.ours(answer.revision);
    at(revision);
    for (const pair of answer.pairs) entries.push(entryOf(pair, layout.ours(pair.key) ?? '', revisions));
    const remaining = answer.count - answer.pairs.length;
    if (remaining === 0 || entries.length >= limit) return { entries, revision, remaining };
    after = entries.at(-1)?.key ?? after;
  }
}

function unlessTooBig(wanted: number): (error: unknown) => undefined {
  return (error) => {
    if (error instanceof EtcdCallError && error.failure === 'AnswerTooBig' && wanted > 1) return undefined;
    throw error;
  };
}
