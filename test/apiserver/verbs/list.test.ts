import assert from 'node:assert/strict';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import { eventually } from '../../harness/eventually.ts';
import type { RawAnswer } from '../../harness/raw.ts';
import { MERGE, NAMESPACES, WIDGETS, WidgetServer } from './widget-server.ts';

const ALL = '/apis/demo.example.com/v1/widgets';
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const PARTIAL = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
const PARTIALS = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';

interface ListBody {
  readonly kind?: string;
  readonly metadata?: {
    readonly resourceVersion?: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items?: readonly {
    readonly kind?: string;
    readonly metadata: { readonly name: string; readonly namespace?: string };
  }[];
}

const names = (list: ListBody) => list.items?.map((item) => item.metadata.name);

describe('list', () => {
  let server: WidgetServer;
  let clock: ManualClock;
  const list = (url: string, accept?: string) =>
    server.send('GET', url, undefined, undefined, accept === undefined ? {} : { headers: { accept } });
  const page = async (query: string): Promise<ListBody> => {
    const answer = await list(`${WIDGETS}?${query}`);
    assert.equal(answer.status, 200, answer.text);
    return answer.body as ListBody;
  };
  beforeEach(async () => {
    clock = new ManualClock();
    server = await WidgetServer.start({ clock });
  });
  afterEach(() => server[Symbol.asyncDispose]());

  const fill = async (...many: string[]) => {
    for (const name of many) await server.make(name, { metadata: { labels: { first: name.slice(0, 1) } } });
  };

  it('is in order of names, in one namespace or all, at one revision of the store', async () => {
    await server.ok('POST', NAMESPACES, { metadata: { name: 'demo-2' } });
    await server.ok('POST', NAMESPACES, { metadata: { name: 'dem' } });
    await fill('b', 'a', 'c');
    for (const other of ['demo-2', 'dem']) {
      const body = {
        apiVersion: 'demo.example.com/v1',
        kind: 'Widget',
        metadata: { name: 'b' },
        spec: { size: 'small' },
      };
      await server.ok('POST', WIDGETS.replace('/demo/', `/${other}/`), body);
    }
    const one = await page('');
    assert.deepEqual(
      [one.kind, names(one), one.metadata],
      ['WidgetList', ['a', 'b', 'c'], { resourceVersion: String(server.revision) }],
    );
    assert.deepEqual(names((await list(ALL)).body as ListBody), ['b', 'b', 'a', 'b', 'c']);
    assert.deepEqual(((await list(WIDGETS.replace('/demo/', '/none/'))).body as ListBody).items, []);
  });

  it('pages through one snapshot while others write', async () => {
    await fill('a', 'b', 'c', 'd', 'e');
    const first = await page('limit=2');
    assert.deepEqual([names(first), first.metadata?.remainingItemCount], [['a', 'b'], 3]);
    await server.ok('DELETE', `${WIDGETS}/c`);
    await fill('aa', 'bb', 'f');
    await server.ok('PATCH', `${WIDGETS}/d`, { metadata: { labels: { new: 'yes' } } }, MERGE);
    const second = await page(`limit=2&continue=${first.metadata?.continue}`);
    const third = await page(`limit=2&continue=${second.metadata?.continue}`);
    assert.deepEqual([names(second), names(third)], [['c', 'd'], ['e']]);
    assert.deepEqual(
      [second, third].map(({ metadata }) => metadata?.resourceVersion),
      [first.metadata?.resourceVersion, first.metadata?.resourceVersion],
    );
    assert.equal(third.metadata?.continue, undefined);
  });

  it('does the same from the history of the store when the snapshot is gone', async () => {
    await fill('a', 'b', 'c');
    const first = await page('limit=1');
    await server.ok('DELETE', `${WIDGETS}/b`);
    server.test.server.parts.snapshots.clear();
    const second = await page(`continue=${first.metadata?.continue}`);
    assert.deepEqual([names(second), second.metadata?.resourceVersion], [['b', 'c'], first.metadata?.resourceVersion]);
  });

  it('says 410 when the history is gone too, with a token for the rest as it is now', async () => {
    await fill('a', 'b', 'c');
    const first = await page('limit=1');
    await server.ok('DELETE', `${WIDGETS}/b`);
    await server.test.store.compact(server.revision);
    server.test.server.parts.snapshots.clear();
    const expired = await list(`${WIDGETS}?limit=1&continue=${first.metadata?.continue}`);
    assert.deepEqual([expired.status, expired.body.reason], [410, 'Expired']);
    const fresh = await page(`continue=${String(expired.body.metadata?.continue)}`);
    assert.deepEqual(names(fresh), ['c']);
    const exact = await list(
      `${WIDGETS}?resourceVersion=${first.metadata?.resourceVersion}&resourceVersionMatch=Exact`,
    );
    assert.deepEqual([exact.status, exact.body.reason], [410, 'Expired']);
  });

  it('counts what remains without selectors only', async () => {
    await fill('a1', 'a2', 'a3', 'b1');
    const some = await page('limit=2&labelSelector=first%3Da');
    assert.deepEqual([names(some), some.metadata?.remainingItemCount], [['a1', 'a2'], undefined]);
    assert.deepEqual(names(await page(`limit=2&labelSelector=first%3Da&continue=${some.metadata?.continue}`)), ['a3']);
    assert.deepEqual(names(await page('fieldSelector=metadata.name!%3Da1,metadata.namespace%3Ddemo')), [
      'a2',
      'a3',
      'b1',
    ]);
  });

  it('is at an exact revision when asked, at least at one otherwise', async () => {
    await fill('a');
    const before = server.revision;
    await fill('b');
    assert.deepEqual(names(await page(`resourceVersion=${before}&resourceVersionMatch=Exact`)), ['a']);
    assert.deepEqual(names(await page(`resourceVersion=${before}&limit=5`)), ['a'], 'limit and a version mean exactly');
    assert.deepEqual(names(await page(`resourceVersion=${before}&resourceVersionMatch=NotOlderThan`)), ['a', 'b']);
    assert.deepEqual(names(await page(`resourceVersion=${before}`)), ['a', 'b']);
    assert.deepEqual(names(await page('resourceVersion=0')), ['a', 'b']);
  });

  for (const [query, status] of [
    ['resourceVersionMatch=Exact', 422],
    ['resourceVersion=0&resourceVersionMatch=Exact', 422],
    ['resourceVersion=1&resourceVersionMatch=Whatever', 422],
    ['resourceVersion=1&resourceVersionMatch=', 200],
    ['resourceVersion=x', 400],
    ['sendInitialEvents=true', 422],
    ['continue=garbage', 400],
    ['limit=x', 400],
    ['limit=-1', 200],
    ['labelSelector=a%20b', 400],
    ['fieldSelector=spec.size%3Dsmall', 400],
    ['unknown=parameter', 200],
  ] as const) {
    it(`answers ${status} to ?${query}`, async () => {
      assert.equal((await list(`${WIDGETS}?${query}`)).status, status);
    });
  }

  it('refuses a version or match beside a continue token', async () => {
    await fill('a', 'b');
    const token = (await page('limit=1')).metadata?.continue;
    assert.equal((await list(`${WIDGETS}?continue=${token}&resourceVersion=3`)).status, 400);
    assert.equal((await list(`${WIDGETS}?continue=${token}&resourceVersionMatch=Exact`)).status, 422);
  });

  it('has every item in the form that was asked for', async () => {
    await fill('a', 'b');
    const table = (await list(WIDGETS, `${TABLE},application/json`)).body as {
      kind?: string;
      rows?: { object: { kind: string } }[];
    };
    assert.deepEqual(
      [table.kind, table.rows?.length, table.rows?.[0]?.object.kind],
      ['Table', 2, 'PartialObjectMetadata'],
    );
    const partial = (await list(WIDGETS, PARTIALS)).body as ListBody;
    assert.deepEqual(
      [partial.kind, names(partial), partial.items?.[0]?.kind],
      ['PartialObjectMetadataList', ['a', 'b'], 'PartialObjectMetadata'],
    );
    assert.equal((await list(WIDGETS, PARTIAL)).status, 406);
    assert.equal((await list(`${WIDGETS}/a`, PARTIALS)).status, 406);
    assert.equal((await list(WIDGETS, 'text/html')).status, 406);
    assert.equal((await list(`${WIDGETS}?includeObject=All`, TABLE)).status, 400);
  });

  it('refuses a form before it writes anything', async () => {
    const body = {
      apiVersion: 'demo.example.com/v1',
      kind: 'Widget',
      metadata: { name: 'w' },
      spec: { size: 'small' },
    };
    for (const [accept, query] of [
      [PARTIALS, ''],
      [TABLE, '?includeObject=All'],
      ['text/html', ''],
    ] as const) {
      const answer = await server.send('POST', `${WIDGETS}${query}`, body, undefined, { headers: { accept } });
      assert.ok([400, 406].includes(answer.status));
    }
    assert.deepEqual(names(await page('')), []);
  });

  it('of more than one piece is one JSON document', async () => {
    const big = { metadata: { annotations: { big: 'x'.repeat(60_000) } } };
    for (const name of ['a', 'b', 'c', 'd', 'e']) await server.make(name, big);
    assert.deepEqual(names(await page('')), ['a', 'b', 'c', 'd', 'e']);
  });

  it('of a future revision waits a little, then says 504 as clients know it', async () => {
    let answer: RawAnswer | undefined;
    void list(`${WIDGETS}?resourceVersion=${server.revision + 1_000}`).then((got) => {
      answer = got;
    });
    await eventually(clock, 'the list is answered', () => answer !== undefined, 500);
    assert.ok(answer !== undefined);
    assert.equal(answer.status, 504);
    assert.equal(answer.body.details?.causes?.[0]?.reason, 'ResourceVersionTooLarge');
    assert.equal(answer.headers['retry-after'], '1');
    const soon = list(`${WIDGETS}?resourceVersion=${server.revision + 1}`);
    await fill('late');
    assert.deepEqual(names((await soon).body as ListBody), ['late']);
  });
});
