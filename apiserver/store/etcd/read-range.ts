import type { IRangeRequest, IRangeResponse } from 'etcd3/lib/rpc.js';
import type { Entry, RangeQuery, RangeResult } from '../store.ts';
import { EtcdCallError } from './call-error.ts';
import type { EtcdConnection } from './connection.ts';
import { entryOf, type Layout, type Revisions } from './layout.ts';

const PAGE = 500;

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
  const ask = (request: IRangeRequest) => connection.read((kv, options) => kv.range(request, options), signal);
  const entries: Entry[] = [];
  let { after = '', revision } = query;
  for (let page = PAGE; ; ) {
    const wanted = Math.min(page, limit - entries.length);
    const pinned = revision === undefined ? {} : { revision: revisions.theirs(revision) };
    const size = limit === 0 ? { count_only: true } : { limit: wanted };
    const answer = await ask({ ...layout.span(prefix, after), ...pinned, ...size }).catch(unlessTooBig(wanted));
    if (answer === undefined) {
      page = Math.ceil(wanted / 4);
      continue;
    }
    revision ??= revisions.ours(answer.header.revision);
    at(revision);
    for (const kv of answer.kvs) entries.push(entryOf(kv, layout.ours(kv.key) ?? '', revisions));
    const remaining = Number(answer.count) - answer.kvs.length;
    if (remaining === 0 || entries.length >= limit) return { entries, revision, remaining };
    after = entries.at(-1)?.key ?? after;
  }
}

function unlessTooBig(wanted: number): (error: unknown) => undefined | IRangeResponse {
  return (error) => {
    if (error instanceof EtcdCallError && error.failure === 'AnswerTooBig' && wanted > 1) return undefined;
    throw error;
  };
}
