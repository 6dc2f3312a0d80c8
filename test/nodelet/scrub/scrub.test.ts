import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Host } from '../../../resources/kinds/host.ts';
import { NodeletWorld } from '../nodelet-world.ts';

const FIRST = '2026-01-02T00:00:00Z';
const SECOND = '2026-01-03T00:00:00Z';

describe('nodelet: a scrub', () => {
  let world: NodeletWorld;
  beforeEach(async () => {
    world = await NodeletWorld.make();
  });
  afterEach(() => world[Symbol.asyncDispose]());

  type Scrub = NonNullable<NonNullable<Host['status']>['scrub']>;
  const scrubOf = () => world.host()?.status?.scrub;
  const clearing = () => scrubOf()?.clearing;
  const ask = (requestedAt = FIRST, changes: Partial<Scrub> = {}) =>
    world.api.change('hosts', 'mac-1', (object) => {
      const host = object as Host;
      const scrub: Scrub = { requestedAt, outcome: 'Running', startedAt: requestedAt, hookTimeout: '24h', ...changes };
      return { ...host, status: { ...host.status, scrub } };
    });
  const answered = () => world.until('it is answered', clearing);
  const hook = async (script: string) =>
    writeFile(join(world.root, 'scrub-hook'), `#!/bin/sh\n${script}\n`, { mode: 0o700 });
  const orphaned = async (...names: string[]) => {
    for (const name of names) await world.running(name);
    for (const name of names) world.api.vanish('vms', `demo/${name}`);
    await world.until('they are orphans', () => world.host()?.status?.orphans?.length === names.length);
  };
  const up = async () => {
    await world.start();
    await world.until('the host is told of', () => world.host()?.status?.capacity);
  };

  it('of an empty host answers that nothing is left, once', async () => {
    await up();
    ask();
    const { at, ...told } = await answered();
    assert.deepEqual(told, { result: 'Cleared', guestsRemoved: 0, workspacesRemoved: 0 });
    assert.match(at, /^2026-/);
    await world.quiet();
    const before = world.api.writes.length;
    await world.quiet();
    assert.deepEqual(world.api.writes.slice(before), []);
  });

  it('is refused while guests are there, which are named, and removes nothing', async () => {
    await orphaned('a', 'b');
    ask();
    const { result, message } = await answered();
    assert.equal(result, 'Refused');
    assert.equal(message, '2 guests (demo/a, demo/b) on the host; --force removes what remains');
    await world.quiet();
    assert.equal(world.guests.size, 2);
  });

  it('forced, removes them, and the accounts are right with the answer', async () => {
    await orphaned('a', 'b');
    ask(FIRST, { forced: true });
    const { result, guestsRemoved } = await answered();
    assert.deepEqual([result, guestsRemoved, world.guests.size], ['Cleared', 2, 0]);
    assert.deepEqual(world.host()?.status?.orphans, []);
    assert.equal(world.host()?.status?.allocatable?.memory, '14Gi');
  });

  it('waits, removing nothing, while a VM is bound here', async () => {
    await world.running('a');
    ask(FIRST, { forced: true });
    await world.quiet();
    assert.deepEqual([clearing(), world.guests.size], [undefined, 1]);
    world.api.delete('vms', 'demo/a');
    assert.equal((await answered()).result, 'Cleared');
  });

  it('waits for a guest that is being made though its VM is gone: it would come after all was cleared', async () => {
    await up();
    const { promise, resolve } = Promise.withResolvers<void>();
    world.driver.createGate = promise;
    await world.aVM('a');
    await world.until('it is being made', () => world.driver.calls.includes('create uid-a'));
    world.api.vanish('vms', 'demo/a');
    ask(FIRST, { forced: true });
    await world.quiet();
    assert.equal(clearing(), undefined);
    resolve();
    const { result, guestsRemoved } = await answered();
    assert.deepEqual([result, guestsRemoved, world.guests.size], ['Cleared', 1, 0]);
  });

  it('is done by a nodelet that was away when it was asked for', async () => {
    await orphaned('a');
    await world.stop();
    ask(FIRST, { forced: true });
    await world.start();
    assert.equal((await answered()).result, 'Cleared');
    assert.equal(world.guests.size, 0);
  });

  it('goes on where a nodelet that ended left it', async () => {
    await orphaned('a', 'b');
    await world.driver.inject([{ fault: 'SlowOperation', operation: 'Remove', takes: '60s' }]);
    ask(FIRST, { forced: true });
    await world.until('it has begun', () => world.driver.calls.some((call) => call.startsWith('remove')));
    await world.stop();
    assert.equal(clearing(), undefined);
    await world.start();
    assert.equal((await answered()).result, 'Cleared');
    assert.equal(world.guests.size, 0);
  });

  it('says which guest does not go', async () => {
    await orphaned('a');
    await world.driver.inject([{ fault: 'FailedOperation', operation: 'Remove', times: 1 }]);
    ask(FIRST, { forced: true });
    const { result, message } = await answered();
    assert.equal(result, 'Failed');
    assert.match(message ?? '', /told to fail this remove/);
    ask(SECOND, { forced: true });
    await world.until('another try', () => clearing()?.result === 'Cleared');
  });

  it('destroys nothing for a store that was put back', async () => {
    await orphaned('a');
    await world.stop();
    world.api.storeUID = 'store-2';
    ask(FIRST, { forced: true });
    await world.start();
    await world.until('it is noticed', () => world.host()?.status?.distrustedStore);
    await world.quiet();
    assert.deepEqual([clearing(), world.guests.size], [undefined, 1]);
  });

  it('is not done again for a store that has forgotten that it was, though that store is trusted by now', async () => {
    await up();
    ask(SECOND, { forced: true });
    assert.equal((await answered()).result, 'Cleared');
    await world.aVM('a');
    await world.untilReady('a');
    world.api.vanish('vms', 'demo/a');
    await world.until('it is an orphan', () => world.host()?.status?.orphans?.length === 1);
    for (const requestedAt of [SECOND, FIRST]) {
      ask(requestedAt, { forced: true });
      const { result, message } = await answered();
      assert.equal(result, 'Failed');
      assert.match(message ?? '', /ask for another$/);
    }
    assert.equal(world.guests.size, 1);
    ask('2026-01-04T00:00:00Z', { forced: true });
    await world.until('asked anew it is done', () => clearing()?.result === 'Cleared');
  });

  it('that was done and not told of is told of, and its hook not run again', async () => {
    await up();
    await hook(`echo x >> ${join(world.root, 'runs')}`);
    ask();
    assert.equal((await answered()).result, 'Cleared');
    await world.stop();
    ask();
    await world.start();
    assert.equal((await answered()).result, 'Cleared');
    assert.equal(await readFile(join(world.root, 'runs'), 'utf8'), 'x\n');
  });

  it('runs the hook of the host when all is cleared, and tells what it said', async () => {
    await orphaned('a');
    await hook('echo "$1 for $2"; pwd; echo oops >&2');
    ask(FIRST, { forced: true });
    const { result, hook: report } = await answered();
    assert.equal(result, 'Cleared');
    assert.deepEqual(report?.exitCode, 0);
    for (const words of [`mac-1 for ${FIRST}`, world.root, 'oops']) assert.ok(report?.output?.includes(words), words);
  });

  it('failed when the hook does; asked for again it is tried again', async () => {
    await up();
    await hook('echo no space; exit 3');
    ask();
    const { result, message, hook: report } = await answered();
    assert.deepEqual([result, message], ['Failed', 'the hook ended with 3']);
    assert.deepEqual(report, { exitCode: 3, output: 'no space' });
    await rm(join(world.root, 'scrub-hook'));
    ask(SECOND);
    await world.until('another try', () => clearing()?.result === 'Cleared');
  });

  it('failed when the hook is late, and the hook is ended', async () => {
    await up();
    await hook('sleep 1000 & echo begun; wait');
    ask(FIRST, { hookTimeout: '10s' });
    const { result, message, hook: report } = await answered();
    assert.deepEqual([result, message], ['Failed', 'the hook was ended at its deadline of 10 s']);
    assert.equal(report?.timedOut, true);
  });
});
