import type { Transport } from '../../apiserver/client/transport.ts';
import { lines } from '../../apiserver/client/watch.ts';
import { type AnswerBody, foundIn, type ShownObject } from './ask.ts';
import { COLLECTION } from './ask-list.ts';
import type { ClientDeps } from './chaos-client.ts';

const QUERY = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
const END = 'k8s.io/initial-events-end';

type Deps = Pick<ClientDeps, 'id' | 'servers' | 'recorder' | 'clock'>;
type Line = {
  readonly type: string;
  readonly object: AnswerBody & { readonly metadata: { readonly annotations?: Readonly<Record<string, string>> } };
};

/** Lists by a watch that begins with what there is, as newer clients do, and leaves it at the mark. Written down as the fresh list that it is; its version, or undefined when it did not come to the mark. */
export async function streamOnce(deps: Deps, server: number, patienceMs: number): Promise<number | undefined> {
  const { id, recorder, clock } = deps;
  const called = recorder.moment();
  const leave = new AbortController();
  const stop = clock.after(patienceMs, () => leave.abort(new Error('no answer in time')));
  const items: ShownObject[] = [];
  let version: number | undefined;
  let why = 'it did not come to the mark';
  try {
    const send = deps.servers[server] as Transport;
    const { body } = await send({ method: 'GET', path: `${COLLECTION}?${QUERY}`, signal: leave.signal });
    for await (const text of lines(body)) {
      const { type, object } = JSON.parse(text) as Line;
      if (type === 'ADDED') items.push(object);
      else if (type === 'BOOKMARK' && object.metadata.annotations?.[END] === 'true')
        version = Number(object.metadata.resourceVersion);
      if (type !== 'ADDED') break;
    }
  } catch (error) {
    why = error instanceof Error ? error.message : String(error);
  } finally {
    stop();
    leave.abort();
  }
  recorder.add({
    kind: 'list',
    client: id,
    server,
    called,
    mode: 'fresh',
    versions: version === undefined ? [] : [version],
    items: version === undefined ? [] : items.map((item) => ({ key: item.metadata.name, ...foundIn(item) })),
    firstPage: recorder.moment(),
    ...(version === undefined ? { outcome: 'unknown', why } : { outcome: 'ok' }),
  });
  return version;
}
