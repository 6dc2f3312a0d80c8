import type { Transport } from '../../apiserver/client/transport.ts';
import { type Answer, ask, foundIn, type ShownObject } from './ask.ts';
import type { ClientDeps } from './chaos-client.ts';
import type { List } from './history.ts';

/** What all clients write to and read. */
export const COLLECTION = '/api/v1/namespaces/default/configmaps';

interface ListWish {
  readonly server: number;
  readonly mode: List['mode'];
  readonly patienceMs: number;
  readonly asked?: number;
  /** Objects a page; undefined: all at once. */
  readonly limit?: number;
  /** Where the next page is asked for. */
  nextServer(): number;
}

type Deps = Pick<ClientDeps, 'id' | 'servers' | 'recorder' | 'clock'>;

/** Lists to the end, page by page, and writes that down; its version, or undefined when it was not answered to the end. */
export async function listOnce(deps: Deps, wish: ListWish): Promise<number | undefined> {
  const { id, recorder } = deps;
  const called = recorder.moment();
  const pages: { readonly version: number; readonly items: readonly ShownObject[] }[] = [];
  let firstPage = 0;
  let answer: Answer;
  let token: string | undefined;
  let server = wish.server;
  do {
    answer = await ask(
      deps.servers[server] as Transport,
      { method: 'GET', path: pathOf(wish, token) },
      { clock: deps.clock, ms: wish.patienceMs },
    );
    if (answer.outcome !== 'ok' || answer.body?.items === undefined) break;
    const { metadata, items } = answer.body;
    pages.push({ version: Number(metadata.resourceVersion), items });
    if (firstPage === 0) firstPage = recorder.moment();
    token = metadata.continue;
    server = wish.nextServer();
  } while (token !== undefined && token !== '');
  const { outcome, why } = answer;
  recorder.add({
    kind: 'list',
    client: id,
    server: wish.server,
    called,
    outcome,
    mode: wish.mode,
    versions: pages.map(({ version }) => version),
    items: pages.flatMap(({ items }) => items.map((item) => ({ key: item.metadata.name, ...foundIn(item) }))),
    firstPage,
    ...(wish.asked === undefined ? {} : { asked: wish.asked }),
    ...(why === undefined ? {} : { why }),
  });
  return outcome === 'ok' ? pages[0]?.version : undefined;
}

function pathOf({ mode, asked, limit }: ListWish, token: string | undefined): string {
  const query = new URLSearchParams();
  if (limit !== undefined) query.set('limit', String(limit));
  if (token !== undefined) query.set('continue', token);
  else if (mode === 'any') query.set('resourceVersion', '0');
  else if (asked !== undefined) {
    query.set('resourceVersion', String(asked));
    query.set('resourceVersionMatch', mode === 'exact' ? 'Exact' : 'NotOlderThan');
  }
  return `${COLLECTION}?${query}`;
}
