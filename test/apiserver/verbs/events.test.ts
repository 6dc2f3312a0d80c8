import assert from 'node:assert/strict';
import type { Table } from '../../../apiserver/table/table.ts';
import { CoordinationLease } from '../../../resources/kinds/coordination-lease.ts';
import { Event } from '../../../resources/kinds/event.ts';
import { EventsEvent } from '../../../resources/kinds/events-event.ts';
import { ApiError } from '../../../resources/meta/api-error.ts';
import type { JsonObject, KubeObject } from '../../../resources/meta/object.ts';
import { startTestServer, type TestServer } from '../../harness/server.ts';

const MICRO = '2020-01-01T00:00:00.123456Z';

describe('Events in both groups', () => {
  let test: TestServer;
  beforeEach(async () => {
    test = await startTestServer();
  });
  afterEach(() => test[Symbol.asyncDispose]());

  const core = () => test.client.resource<Event>(Event, 'default');
  const events = () => test.client.resource<KubeObject>(EventsEvent, 'default');
  const about = { kind: 'Widget', namespace: 'default', name: 'w' };
  const coreEvent = (name: string, fields: JsonObject = {}) =>
    core().create({ apiVersion: 'v1', kind: 'Event', metadata: { name }, involvedObject: about, ...fields });
  const newEvent = (name: string, fields: JsonObject = {}) =>
    events().create({
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name },
      eventTime: MICRO,
      regarding: about,
      reportingController: 'ex.io/c',
      reportingInstance: 'i-1',
      action: 'Do',
      reason: 'Why',
      note: 'said',
      type: 'Normal',
      ...fields,
    });
  const fieldsOf = async (write: Promise<unknown>) => {
    const error = await write.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof ApiError && error.reason === 'Invalid', `not Invalid: ${error}`);
    return (error.details?.causes ?? []).map(({ field }) => field);
  };
  const tableOf = async (path: string) =>
    (await test.client.json({
      method: 'GET',
      path,
      headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
    })) as Table;

  it('shows what was made in one group in the other, under its names there', async () => {
    await coreEvent('a', {
      message: 'said',
      count: 2,
      source: { component: 'c' },
      lastTimestamp: '2020-01-02T00:00:00Z',
    });
    const { apiVersion, metadata: _, ...shown } = await events().get('a');
    assert.equal(apiVersion, 'events.k8s.io/v1');
    assert.deepEqual(shown, {
      kind: 'Event',
      regarding: about,
      note: 'said',
      deprecatedCount: 2,
      deprecatedSource: { component: 'c' },
      deprecatedFirstTimestamp: null,
      deprecatedLastTimestamp: '2020-01-02T00:00:00Z',
      eventTime: null,
    });
    await newEvent('b');
    const b = await core().get('b');
    assert.equal(b.apiVersion, 'v1');
    assert.deepEqual(
      [b.involvedObject, b.message, b.reportingComponent, b.eventTime, b.source, b.firstTimestamp],
      [about, 'said', 'ex.io/c', MICRO, {}, null],
    );
    assert.deepEqual(
      (await events().list()).items.map(({ metadata }) => metadata.name),
      ['a', 'b'],
    );
  });

  it('takes updates, patches and deletes through either', async () => {
    await newEvent('a');
    const series = { count: 3, lastObservedTime: MICRO };
    await events().patch('a', { series }, { type: 'application/strategic-merge-patch+json' });
    assert.deepEqual((await core().get('a')).series, series);
    await core().patch('a', { metadata: { labels: { x: 'y' } } });
    assert.deepEqual((await events().get('a')).metadata.labels, { x: 'y' });
    await events().delete('a');
    await assert.rejects(core().get('a'), { reason: 'NotFound' });
  });

  it('is watched in both, each in its own form', async () => {
    const first = async (watching: ReturnType<ReturnType<typeof core>['watch']>) => {
      for await (const event of await watching) if (event.type === 'ADDED') return event.object;
      return undefined;
    };
    const { metadata } = await core().list();
    const options = { resourceVersion: metadata.resourceVersion };
    const signal = AbortSignal.timeout(5_000);
    const both = [first(core().watch(options, signal)), first(events().watch(options, signal) as never)];
    await coreEvent('a', { message: 'said' });
    const [older, newer] = await Promise.all(both);
    assert.deepEqual([older?.apiVersion, older?.message], ['v1', 'said']);
    assert.deepEqual([newer?.apiVersion, newer?.note], ['events.k8s.io/v1', 'said']);
  });

  it('selects by the names of each', async () => {
    await coreEvent('a', { source: { component: 'ctl' } });
    await newEvent('b', { regarding: { ...about, name: 'other' } });
    const names = async (resource: 'core' | 'events', fieldSelector: string) =>
      (await { core, events }[resource]().list({ fieldSelector })).items.map((item) => item.metadata.name);
    assert.deepEqual(await names('core', 'involvedObject.name=other'), ['b']);
    assert.deepEqual(await names('core', 'source=ctl'), ['a']);
    assert.deepEqual(await names('core', 'source=ex.io/c'), ['b']);
    assert.deepEqual(await names('events', 'regarding.name=w'), ['a']);
    assert.deepEqual(await names('events', 'reportingController=ex.io/c'), ['b']);
    await assert.rejects(names('events', 'involvedObject.name=w'), { reason: 'BadRequest' });
    await assert.rejects(names('core', 'regarding.name=w'), { reason: 'BadRequest' });
  });

  it('asks more of what is made in the newer group', async () => {
    assert.deepEqual(await fieldsOf(newEvent('a', { eventTime: null })), ['eventTime']);
    assert.deepEqual(await fieldsOf(newEvent('a', { type: 'Odd' })), ['type']);
    assert.deepEqual(await fieldsOf(newEvent('a', { reason: '', action: 'x'.repeat(129) })), ['action', 'reason']);
    assert.deepEqual(await fieldsOf(newEvent('a', { note: 'x'.repeat(1025) })), ['message']);
    assert.deepEqual(await fieldsOf(newEvent('a', { series: { count: 1 } })), [
      'series.count',
      'series.lastObservedTime',
    ]);
    assert.deepEqual(
      await fieldsOf(
        newEvent('a', { deprecatedCount: 1, deprecatedFirstTimestamp: MICRO, deprecatedSource: { host: 'h' } }),
      ),
      ['firstTimestamp', 'count', 'source'],
    );
    await newEvent('a');
    assert.deepEqual(await fieldsOf(events().patch('a', { note: 'other' })), ['message']);
    assert.equal((await core().patch('a', { message: 'other' })).message, 'other');
  });

  it('takes core names that are no DNS names, and no event of another namespace', async () => {
    assert.equal((await coreEvent('Not_a.DNS:name')).metadata.name, 'Not_a.DNS:name');
    assert.deepEqual(await fieldsOf(coreEvent('b', { involvedObject: { ...about, namespace: 'other' } })), [
      'involvedObject.namespace',
    ]);
  });

  it('is printed alike in both: last seen first, the name last', async () => {
    await newEvent('a', { note: ' said\n' });
    await coreEvent('b', { message: 'x', source: { component: 'c', host: 'h' }, count: 4 });
    for (const path of ['/api/v1/namespaces/default/events', '/apis/events.k8s.io/v1/namespaces/default/events']) {
      const { columnDefinitions, rows } = await tableOf(path);
      assert.deepEqual(
        columnDefinitions?.map(({ name, priority }) => `${name} ${priority}`),
        [
          ...['Last Seen 0', 'Type 0', 'Reason 0', 'Object 0', 'Subobject 1'],
          ...['Source 1', 'Message 0', 'First Seen 1', 'Count 1', 'Name 1'],
        ],
      );
      assert.deepEqual(rows[0]?.cells.slice(1, 7), ['Normal', 'Why', 'widget/w', '', 'ex.io/c, i-1', 'said']);
      assert.match(String(rows[0]?.cells[0]), /^\d+y/);
      assert.deepEqual(rows[0]?.cells.slice(8), [1, 'a']);
      assert.deepEqual(rows[1]?.cells, ['<unknown>', '', '', 'widget/w', '', 'c, h', 'x', '<unknown>', 4, 'b']);
    }
  });

  it('keeps times to the second and to the microsecond, in UTC', async () => {
    const { firstTimestamp, eventTime } = await coreEvent('a', {
      ...{ firstTimestamp: '2020-01-01T02:00:00.9+02:00', eventTime: '2020-01-01T02:00:00.000009+02:00' },
      ...{ reportingComponent: 'c', reportingInstance: 'i', action: 'Do', reason: 'Why' },
    });
    assert.deepEqual([firstTimestamp, eventTime], ['2020-01-01T00:00:00Z', '2020-01-01T00:00:00.000009Z']);
    for (const wrong of ['2020-01-01T00:00:00Z', '2020-02-30T00:00:00.000000Z', 'now', ''])
      await assert.rejects(coreEvent('b', { eventTime: wrong }), { reason: 'BadRequest', message: /parsing time/ });
  });

  it('coordination Leases: strategies say whose they are, and a preferred holder needs one', async () => {
    const lease = (spec: JsonObject) =>
      test.client.resource<CoordinationLease>(CoordinationLease, 'default').create({
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name: 'l' },
        spec,
      });
    assert.deepEqual(await fieldsOf(lease({ leaseDurationSeconds: -1, leaseTransitions: -1 })), [
      'spec.leaseDurationSeconds',
      'spec.leaseTransitions',
    ]);
    assert.deepEqual(await fieldsOf(lease({ strategy: 'mine' })), ['spec.strategy']);
    assert.deepEqual(await fieldsOf(lease({ preferredHolder: 'x' })), ['spec.preferredHolder']);
    await assert.rejects(lease({ leaseDurationSeconds: 2 ** 31 }), { reason: 'BadRequest' });
    const { spec } = await lease({
      strategy: 'ex.io/mine',
      preferredHolder: 'x',
      holderIdentity: '',
      leaseTransitions: 0,
    });
    assert.deepEqual(spec, { strategy: 'ex.io/mine', preferredHolder: 'x', holderIdentity: '', leaseTransitions: 0 });
  });
});
