import assert from 'node:assert/strict';
import { MemoryStore } from '../../../apiserver/store/memory/store.ts';
import { StoreError, type StoreSize } from '../../../apiserver/store/store.ts';
import { shortagesIn } from '../../../cli/actions/shortages.ts';
import { type Logger, silentLogger } from '../../../resources/ambient/log.ts';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { Event } from '../../../resources/kinds/event.ts';
import { quiesce } from '../../harness/eventually.ts';
import { send } from '../../harness/raw.ts';
import { startTestServer, type TestServer } from '../../harness/server.ts';

const MIB = 1 << 20;
const MINUTE = 60_000;

describe('a server whose store runs out of room', () => {
  let clock: ManualClock;
  let store: MemoryStore;
  let share: number;
  let said: string[];
  let test: TestServer;

  beforeEach(async () => {
    clock = new ManualClock();
    store = await MemoryStore.open({ ids: systemIds });
    share = 0.1;
    said = [];
    store.size = async (): Promise<StoreSize> => ({ bytes: share * 100 * MIB, usedBytes: MIB, limitBytes: 100 * MIB });
    const note = (message: string) => void (message.startsWith('the store') && said.push(message));
    const log: Logger = { ...silentLogger, info: note, error: note };
    test = await startTestServer({ store, clock, log });
  });
  afterEach(async () => {
    await test[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
  });

  const passed = async (minutes: number) => {
    for (let minute = 0; minute < minutes; minute++) {
      await clock.advance(MINUTE);
      await quiesce();
    }
  };
  const events = async () => {
    const { items } = await test.client.resource<Event>(Event, 'coppice-system').list();
    return items.map(({ type, reason, count, involvedObject }) => [type, reason, count, involvedObject?.name]);
  };
  const readyz = async (query = '?verbose') => {
    const { status, text } = await send(test.server.app, 'GET', `/readyz${query}`);
    return { status, text };
  };

  it('says so once, in the log, in an Event about its namespace and where it says whether it is ready', async () => {
    await passed(3);
    assert.deepEqual([said, await events()], [[], []]);
    assert.match((await readyz()).text, /^\[\+\]store-room ok$/m);
    share = 0.85;
    await passed(3);
    assert.deepEqual(said, ['the store is nearly full']);
    assert.deepEqual(await events(), [['Warning', 'StoreNearlyFull', 1, 'coppice-system']]);
    const { status, text } = await readyz();
    assert.equal(status, 200);
    assert.deepEqual(shortagesIn(text), [
      {
        object: 'store',
        reason: 'StoreNearlyFull',
        message: 'the database of etcd takes 85Mi, 85 % of the 100Mi it may have',
      },
    ]);
    assert.deepEqual(await readyz(''), { status: 200, text: 'ok' });
    assert.deepEqual(await readyz('/store-room'), { status: 200, text: 'ok' });
  });

  it('says when it is full, and when it is well again', async () => {
    share = 0.97;
    await passed(2);
    share = 0.5;
    await passed(1);
    assert.deepEqual(said, ['the store is full', 'the store has room again']);
    assert.deepEqual(await events(), [['Warning', 'StoreFull', 1, 'coppice-system']]);
    assert.deepEqual(shortagesIn((await readyz()).text), []);
  });

  it('tells again each half hour while it lasts, in the same Event', async () => {
    share = 0.85;
    await passed(65);
    assert.deepEqual(await events(), [['Warning', 'StoreNearlyFull', 3, 'coppice-system']]);
    assert.deepEqual(said, ['the store is nearly full']);
  });

  it('tries the Event again when it did not fit', async () => {
    const txn = store.txn.bind(store);
    store.txn = () => {
      throw new StoreError('NoSpace', 'full');
    };
    share = 0.97;
    await passed(2);
    assert.deepEqual(await events(), []);
    store.txn = txn;
    await passed(1);
    assert.deepEqual(await events(), [['Warning', 'StoreFull', 1, 'coppice-system']]);
  });

  it('goes on when the size cannot be told', async () => {
    store.size = () => Promise.reject(new StoreError('Unavailable', 'etcd does not answer'));
    await passed(3);
    assert.deepEqual(said, []);
    assert.equal((await readyz()).status, 200);
  });
});
