import assert from 'node:assert/strict';
import type { Driver, ObservedGuest } from '../../../nodelet/drivers/driver.ts';
import { DriverError } from '../../../nodelet/drivers/driver.ts';
import { SimDriver } from '../../../nodelet/drivers/sim/sim-driver.ts';
import { type ClearDeps, clearHost } from '../../../nodelet/scrub/clear-host.ts';
import type { AnsweredScrub } from '../../../nodelet/scrub/scrub-file.ts';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import type { Host } from '../../../resources/kinds/host.ts';
import { aHost } from '../../harness/builders.ts';
import { memorySimHost } from '../drivers/sim/memory-sim-host.ts';

const ASKED = '2026-03-01T00:00:00Z';
const { signal } = new AbortController();

function asked(changes: Partial<NonNullable<NonNullable<Host['status']>['scrub']>> = {}): Host {
  const host = aHost();
  return {
    ...host,
    status: { ...host.status, scrub: { requestedAt: ASKED, outcome: 'Running', forced: true, ...changes } },
  };
}

async function aDriver(): Promise<SimDriver> {
  const capacity = { vcpus: 8, memoryBytes: 1024 ** 3, diskBytes: 1024 ** 3 };
  const driver = new SimDriver({ host: memorySimHost(), capacity, clock: new ManualClock() });
  const digest = (await driver.image('tiny'))?.digest ?? '';
  await driver.create(
    {
      ...{ id: 'g', label: 'red/a', hostname: 'a', guestOS: 'linux', image: { path: 'tiny', digest } },
      ...{ vcpus: 1, memoryBytes: 1, diskBytes: 0, epoch: 1 },
    },
    signal,
  );
  return driver;
}

const guestsOf = async (driver: Driver) => (await driver.list(signal)).map(({ id }) => id);

/** Everything as it should be, for the Host as the server has it now. */
function deps(
  driver: Driver,
  now: Host | undefined,
  changes: Partial<ClearDeps> = {},
): ClearDeps & { filed: AnsweredScrub[] } {
  const filed: AnsweredScrub[] = [];
  return {
    filed,
    driver,
    store: { check: async () => ({ trusted: true }) },
    file: { read: async () => filed.at(-1), write: async (answered) => void filed.push(answered) },
    hook: { run: async () => undefined },
    fetchHost: async () => now,
    isBusy: () => false,
    volumeGone: () => false,
    nowText: () => ASKED,
    ...changes,
  };
}

describe('clearing a host', () => {
  it('is done only for a Host that still says so: what tells of it may be an old copy', async () => {
    const driver = await aDriver();
    const host = asked();
    const others: readonly (Host | undefined)[] = [
      undefined,
      { ...host, metadata: { ...host.metadata, uid: 'another' } },
      asked({ outcome: 'Succeeded' }),
      asked({ requestedAt: '2026-04-01T00:00:00Z' }),
      asked({ clearing: { result: 'Cleared', at: ASKED, guestsRemoved: 0, workspacesRemoved: 0 } }),
    ];
    for (const now of others) assert.equal(await clearHost(asked(), deps(driver, now), signal), undefined);
    assert.deepEqual(await guestsOf(driver), ['g']);
    assert.equal((await clearHost(asked(), deps(driver, asked()), signal))?.result, 'Cleared');
    assert.deepEqual(await guestsOf(driver), []);
  });

  it('waits while the store is not trusted, and while something is done to a guest', async () => {
    const driver = await aDriver();
    const distrust = { trusted: false, message: 'm', token: 't' } as const;
    for (const changes of [{ store: { check: async () => distrust } }, { isBusy: () => true }])
      assert.equal(await clearHost(asked(), deps(driver, asked(), changes), signal), undefined);
    assert.deepEqual(await guestsOf(driver), ['g']);
  });

  it('files its answer before it gives it', async () => {
    const driver = await aDriver();
    const held = deps(driver, asked());
    const clearing = await clearHost(asked(), held, signal);
    assert.deepEqual(held.filed, [{ uid: asked().metadata.uid, requestedAt: ASKED, clearing }]);
    const full = { read: async () => undefined, write: async () => assert.fail('no space') };
    await assert.rejects(clearHost(asked(), deps(driver, asked(), { file: full }), signal), /no space/);
  });

  it('removes what comes to light only when the rest is gone', async () => {
    const driver = await aDriver();
    const hidden: Driver = Object.create(driver, {
      name: { value: 'qemu' },
      volumes: { value: async () => [] },
      list: { value: async () => [...(await driver.list(signal)), ...stray] },
      remove: { value: async (id: string) => (id === 's' ? void stray.pop() : driver.remove(id, signal)) },
      clear: {
        value: async () => {
          if (seek) stray.push({ ...(await driver.list(signal))[0], id: 's' } as ObservedGuest);
          if (seek) seek = false;
          if (stray.length > 0) throw new DriverError('Failed', 'there are 1 guests on this host');
          return 2;
        },
      },
    });
    const stray: ObservedGuest[] = [];
    let seek = true;
    const clearing = await clearHost(asked(), deps(hidden, asked()), signal);
    assert.deepEqual([clearing?.result, clearing?.guestsRemoved, clearing?.workspacesRemoved], ['Cleared', 2, 2]);
  });
});
