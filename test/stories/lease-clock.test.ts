import assert from 'node:assert/strict';
import { findCondition } from '../../resources/meta/condition.ts';
import { FleetWorld, SettableClock } from '../harness/fleet-world.ts';

const HOUR_MS = 3_600_000;

async function aLease(spec: object, at?: string): Promise<FleetWorld> {
  const world = await FleetWorld.start(at === undefined ? {} : { at });
  await world.tenant('acme');
  await world.mac('mini');
  await world.asks(spec);
  await world.until('it has its host', () => world.tells() === 'Active on mini (Active)');
  return world;
}

const suspect = (world: FleetWorld) => findCondition(world.lease() ?? assert.fail(), 'ClockSuspect');

describe('a lease and the clock', () => {
  for (const [what, at] of [
    ['in the last second of a day', '2026-03-01T23:59:59.800Z'],
    ['over the leap day', '2028-02-28T18:00:00Z'],
    ['over the day that has 23 hours in Berlin', '2026-03-28T22:30:00Z'],
    ['over the day that has 25 hours in Berlin', '2026-10-24T22:30:00Z'],
    ['over the day that has 25 hours in New York', '2026-11-01T03:30:00Z'],
    ['over the day that has 23 and a half hours on Lord Howe', '2026-10-03T12:30:00Z'],
    ['over the turn of the year', '2026-12-31T12:00:00Z'],
  ] as const) {
    it(`granted ${what} lasts 24 hours to the second, and is billed as much`, async () => {
      await using world = await aLease({ duration: '24h' }, at);
      const { grantedAt = '', earliestEnd = '', endsAt } = world.lease()?.status ?? {};
      assert.equal(Date.parse(earliestEnd) - Date.parse(grantedAt), 24 * HOUR_MS);
      assert.equal(endsAt, earliestEnd);
      assert.match(grantedAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      await world.isNow(endsAt, -1_500);
      assert.equal(world.tells(), 'Active on mini (Active)');
      await world.isNow(endsAt);
      await world.until('it has ended', () => world.tells() === 'Ended on mini (Ended)');
      assert.equal(world.lease()?.status?.billedUntil, earliestEnd);
    });
  }

  it('is not promised from before it was had: a part of a second does not count', async () => {
    await using world = await FleetWorld.start({ at: '2026-03-01T23:59:58.950Z' });
    await world.tenant('acme');
    await world.mac('mini');
    await world.asks();
    const askedMs = world.clock.now();
    await world.until('it has its host', () => world.tells() === 'Active on mini (Active)');
    assert.ok(Date.parse(world.lease()?.status?.grantedAt ?? '') >= askedMs);
  });

  it('is not ended early by a clock that is set forward, and says so when its end hangs on it', async () => {
    await using world = await aLease({ duration: '24h' });
    const { endsAt } = world.lease()?.status ?? {};
    await world.isNow(endsAt, -HOUR_MS);
    world.clock.set(2 * HOUR_MS);
    await world.patches('acme/ci', { metadata: { labels: { look: 'again' } } });
    await world.settles();
    assert.equal(world.tells(), 'Active on mini (Active)');
    assert.deepEqual([suspect(world)?.status, suspect(world)?.reason], ['True', 'ClocksDiffer']);
    await world.passes('58m');
    assert.equal(world.tells(), 'Active on mini (Active)');
    await world.passes('2m');
    await world.until('it has ended', () => world.tells() === 'Ended on mini (Ended)');
    assert.equal(suspect(world)?.status, 'False');
  });

  it('that was two hours behind when it was granted, and is right again, lasts 24 hours all the same', async () => {
    await using world = await FleetWorld.start();
    await world.tenant('acme');
    await world.mac('mini');
    world.clock.set(-2 * HOUR_MS);
    await world.asks({ duration: '24h' });
    await world.until('it has its host', () => world.tells() === 'Active on mini (Active)');
    const grantedMs = world.clock.monotonic();
    world.clock.set(2 * HOUR_MS);
    await world.passes('22h30m');
    assert.equal(world.tells(), 'Active on mini (Active)');
    await world.clock.leap(grantedMs + 24 * HOUR_MS - 2_000 - world.clock.monotonic());
    await world.settles();
    assert.equal(world.tells(), 'Active on mini (Active)');
    await world.passes('2s');
    await world.until('it has ended', () => world.tells() === 'Ended on mini (Ended)');
  });

  it('that is set back two hours ends when the clock says so too', async () => {
    await using world = await aLease({ duration: '24h' });
    const endsAtMs = Date.parse(world.lease()?.status?.endsAt ?? '');
    await world.passes('3h');
    world.clock.set(-2 * HOUR_MS);
    await world.clock.leap(endsAtMs - world.clock.monotonic());
    await world.settles();
    assert.equal(world.tells(), 'Active on mini (Active)');
    assert.equal(suspect(world)?.status, 'True');
    world.clock.set(2 * HOUR_MS);
    await world.patches('acme/ci', { metadata: { labels: { look: 'again' } } });
    await world.until('it has ended', () => world.tells() === 'Ended on mini (Ended)');
    assert.equal(suspect(world)?.status, 'False');
  });

  it('is not told to have ended before its end, by a clock that is set back while its VMs go', async () => {
    await using world = await aLease({ duration: '24h' });
    await world.runs('acme/web');
    await world.stopNodelet('mini');
    await world.passes('25h');
    await world.until('its VM is to go', () => world.vm('acme/web')?.metadata.deletionTimestamp !== undefined);
    world.clock.set(-2 * HOUR_MS);
    world.startNodelet('mini');
    await world.until('it has ended', () => world.tells() === 'Ended on mini (Ended)');
    const { endedAt, endsAt, billedUntil } = world.lease()?.status ?? {};
    assert.equal(endedAt, endsAt);
    assert.equal(billedUntil, endsAt);
  });

  it('of controllers that are ten minutes ahead of the server: it ends when it is over by both', async () => {
    await using world = await aLease({ duration: '24h' });
    await world.stopControllers();
    const ahead = new Ahead(world.clock, HOUR_MS / 6);
    world.fleet.controllersClock = ahead;
    await world.isNow(world.lease()?.status?.endsAt, -5 * 60_000);
    world.startControllers();
    await world.settles();
    assert.equal(world.tells(), 'Active on mini (Active)');
    assert.match(suspect(world)?.message ?? '', /clocks of server and controllers differ/);
    const quiet = world.lease()?.metadata.resourceVersion;
    await world.passes('2m');
    assert.equal(
      world.lease()?.metadata.resourceVersion,
      quiet,
      'what is asked again and again is not written again and again',
    );
    await world.passes('4m');
    await world.until('it has ended', () => world.tells() === 'Ended on mini (Ended)');
    assert.equal(suspect(world)?.status, 'False');
    assert.deepEqual(world.fleet.errors, []);
  });
});

/** The same time, told ahead of it. */
class Ahead extends SettableClock {
  readonly #of: SettableClock;
  readonly #byMs: number;

  constructor(of: SettableClock, byMs: number) {
    super();
    this.#of = of;
    this.#byMs = byMs;
  }

  override now(): number {
    return this.#of.now() + this.#byMs;
  }

  override monotonic(): number {
    return this.#of.monotonic();
  }

  override after(ms: number, run: () => void): () => void {
    return this.#of.after(ms, run);
  }

  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#of.sleep(ms, signal);
  }
}
