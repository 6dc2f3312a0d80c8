import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rfc3339 } from '../../resources/ambient/clock.ts';
import { VM } from '../../resources/kinds/vm.ts';
import { findCondition } from '../../resources/meta/condition.ts';
import { FleetWorld } from '../harness/fleet-world.ts';
import { until } from '../harness/until.ts';

const DUTIES = ['tenant', 'image', 'scrub', 'lease', 'placement', 'vm-lifecycle', 'garbage'] as const;

/** A fleet with two tenants, of which acme leases the only Mac. */
async function aLeasedMac(policy: object = {}): Promise<FleetWorld> {
  const world = await FleetWorld.start({ duties: false });
  world.startControllers(...DUTIES);
  const made = await world.request('PATCH', 'policies/default', { spec: policy });
  assert.ok(made.status < 300, made.text);
  await world.tenant('acme');
  await world.tenant('beta');
  await world.mac('mini');
  await world.asks();
  await world.until('acme has it', () => world.hostTells('mini') === 'leased to acme');
  return world;
}

const scrubOf = (world: FleetWorld) => world.host('mini').status?.scrub;
const told = (world: FleetWorld) => {
  const { outcome = 'none', message } = scrubOf(world) ?? {};
  return message === undefined ? outcome : `${outcome}: ${message}`;
};

/** As `coppice scrub` asks. */
async function asksForScrub(world: FleetWorld, force = false): Promise<void> {
  const last = Date.parse(scrubOf(world)?.requestedAt ?? '1970-01-01T00:00:00Z') + 1000;
  const requestedAt = rfc3339(Math.max(world.clock.now(), last));
  await world.request('PATCH', 'hosts/mini', { spec: { scrub: { requestedAt, force } } });
  await world.until('it is answered', () => {
    const scrub = scrubOf(world);
    return scrub?.requestedAt === requestedAt && scrub.outcome !== 'Waiting' && scrub.outcome !== 'Running';
  });
}

/** As `asksForScrub`, where a real process has a part in it: time goes by slowly, unless it is a hook that hangs and is to be late. */
async function asksForHook(world: FleetWorld, script: string, hangs: boolean): Promise<void> {
  const began = join(world.folderOf('mini'), 'began');
  await rm(began, { force: true });
  await hook(world, `touch ${began}; ${script}`);
  const last = Date.parse(scrubOf(world)?.requestedAt ?? '1970-01-01T00:00:00Z') + 1000;
  const requestedAt = rfc3339(Math.max(world.clock.now(), last));
  await world.request('PATCH', 'hosts/mini', { spec: { scrub: { requestedAt } } });
  await slowly(world, 'the hook is at work', () => existsSync(began));
  if (hangs) await world.passes('10m');
  await slowly(world, 'it is answered', () => {
    const scrub = scrubOf(world);
    return scrub?.requestedAt === requestedAt && scrub.finishedAt !== undefined;
  });
}

async function slowly(world: FleetWorld, what: string, holds: () => boolean): Promise<void> {
  await until(what, async () => {
    await world.clock.advance(20);
    return holds();
  });
}

async function endsByForce(world: FleetWorld): Promise<void> {
  await world.patches('acme/ci', { spec: { release: { force: true } } });
  await world.until('it has ended', () => world.tells() === 'Ended on mini (Ended)');
}

/** A VM object that is lost while its guest runs on, as an operator does it who takes the finalizer off. */
async function loses(world: FleetWorld, name: string): Promise<void> {
  await world.stopNodelet('mini');
  const vms = world.fleet.resource<VM>(VM, 'acme');
  await vms.delete(name);
  await vms.patch(name, { metadata: { finalizers: null } });
  world.startNodelet('mini');
  await world.until('its guest is an orphan', () => world.host('mini').status?.orphans?.length === 1);
}

const hook = (world: FleetWorld, script: string) =>
  writeFile(join(world.folderOf('mini'), 'scrub-hook'), `#!/bin/sh\n${script}\n`, { mode: 0o700 });

describe('the story of a scrub', function () {
  this.timeout(60_000);

  it('stands between two lessees: refused while a guest remains, then the Mac is the next one’s', async () => {
    await using world = await aLeasedMac();
    await world.runs('acme/build');
    await world.runs('acme/lost', { image: 'linux' });
    await asksForScrub(world, true);
    assert.equal(
      told(world),
      'Refused: the host is leased to acme; end the lease first: coppice lease release ci -n acme --force',
    );
    assert.equal(world.guestsOn('mini').size, 2);

    await loses(world, 'lost');
    await endsByForce(world);
    assert.equal(world.hostTells('mini'), 'waits for a scrub');
    await world.asks({}, 'beta/next');
    await world.settles();
    assert.equal(world.tells('beta/next'), 'Pending (ScrubPending)');
    await world.create(VM, { metadata: { name: 'web', namespace: 'beta' }, spec: { image: 'linux' } });
    await world.until('it says why it waits', () => {
      const vm = world.vm('beta/web');
      return vm !== undefined && findCondition(vm, 'Scheduled')?.reason === 'ScrubPending';
    });

    await asksForScrub(world);
    assert.equal(told(world), 'Refused: 1 guest has no VM (acme/lost); --force removes what remains');
    assert.equal(world.guestsOn('mini').size, 1);
    assert.equal(world.hostTells('mini'), 'waits for a scrub');

    await asksForScrub(world, true);
    assert.equal(told(world), 'Succeeded');
    const { clearing } = scrubOf(world) ?? {};
    assert.deepEqual([clearing?.guestsRemoved, world.guestsOn('mini').size], [1, 0]);
    await world.until('beta has it', () => world.hostTells('mini') === 'leased to beta');
  });

  it('is kept on the lease it came after, and that of the next is its own', async () => {
    await using world = await aLeasedMac();
    await endsByForce(world);
    await asksForScrub(world);
    await world.until('the record is there', () => world.lease()?.status?.scrub !== undefined);
    const { requestedAt, startedAt, finishedAt } = scrubOf(world) ?? {};
    assert.deepEqual(world.lease()?.status?.scrub, {
      ...{ requestedAt, startedAt, finishedAt, guestsRemoved: 0, workspacesRemoved: 0 },
    });
    const first = world.lease()?.status?.scrub;
    await world.asks({}, 'beta/next');
    await world.until('beta has it', () => world.hostTells('mini') === 'leased to beta');
    await world.passes('1h');
    await world.patches('beta/next', { spec: { release: { force: true } } });
    await world.until('it has ended', () => world.tells('beta/next') === 'Ended on mini (Ended)');
    await asksForScrub(world, true);
    assert.equal(world.lease('beta/next')?.status?.scrub?.forced, true);
    assert.deepEqual(world.lease()?.status?.scrub, first);
  });

  it('comes by itself where the policy says so: nobody asks, and the next tenant has the Mac', async () => {
    await using world = await aLeasedMac({ scrubMode: 'Automatic' });
    await world.runs('acme/build');
    await world.asks({}, 'beta/next');
    await endsByForce(world);
    await world.until('beta has it', () => world.hostTells('mini') === 'leased to beta');
    assert.equal(scrubOf(world)?.outcome, 'Succeeded');
    assert.equal(scrubOf(world)?.automatic, true);
    assert.equal(world.host('mini').spec.scrub, undefined);
    await world.patches('beta/next', { spec: { release: { force: true } } });
    await world.until('and again', () => world.hostTells('mini') === 'free');
  });

  it('comes by itself to a Mac that waits already when the policy comes to say so', async () => {
    await using world = await aLeasedMac();
    await endsByForce(world);
    await world.passes('1h');
    assert.equal(world.hostTells('mini'), 'waits for a scrub');
    await world.request('PATCH', 'policies/default', { spec: { scrubMode: 'Automatic' } });
    await world.until('it is free', () => world.hostTells('mini') === 'free');
  });

  it('by itself waits for an orphan to be let go, and forces nothing', async () => {
    await using world = await aLeasedMac({ scrubMode: 'Automatic' });
    await world.runs('acme/lost');
    await loses(world, 'lost');
    await endsByForce(world);
    await world.until('it says why', () => told(world).startsWith('Waiting: 1 guest has no VM (acme/lost)'));
    await world.passes('48h');
    assert.equal(world.guestsOn('mini').size, 1);
    const [id] = [...world.guestsOn('mini').keys()];
    await world.request('PATCH', 'hosts/mini', { spec: { removeOrphans: [id] } });
    await world.until('the Mac is free', () => world.hostTells('mini') === 'free');
    assert.equal(world.guestsOn('mini').size, 0);
  });

  it('fails with the hook of the Mac, which is ended when it hangs, and is asked for again', async () => {
    await using world = await aLeasedMac({ scrubHookTimeout: '10m' });
    await endsByForce(world);
    await asksForHook(world, 'echo wiping; sleep 100000', true);
    assert.equal(told(world), 'Failed: the hook was ended at its deadline of 600 s');
    assert.equal(scrubOf(world)?.clearing?.hook?.timedOut, true);
    assert.equal(world.hostTells('mini'), 'waits for a scrub');

    await asksForHook(world, 'echo no keychain; exit 7', false);
    assert.equal(told(world), 'Failed: the hook ended with 7');
    assert.deepEqual(scrubOf(world)?.clearing?.hook, { exitCode: 7, output: 'no keychain' });
    const pending = findCondition(world.host('mini'), 'ScrubPending');
    assert.equal(pending?.message, 'the hook ended with 7; to try again: coppice scrub mini');

    await asksForHook(world, 'exit 0', false);
    assert.equal(world.hostTells('mini'), 'free');
    assert.equal(world.lease()?.status?.scrub?.hookExitCode, 0);
  });

  it('goes on when its nodelet ends in the middle of it, and when its controllers do', async () => {
    await using world = await aLeasedMac();
    await world.runs('acme/lost');
    await loses(world, 'lost');
    await endsByForce(world);
    const began = join(world.folderOf('mini'), 'began');
    await hook(world, `touch ${began}; sleep 100000`);
    const requestedAt = rfc3339(world.clock.now());
    await world.request('PATCH', 'hosts/mini', { spec: { scrub: { requestedAt, force: true } } });
    await slowly(world, 'the hook is at work', () => existsSync(began));
    assert.equal(world.guestsOn('mini').size, 0);
    await world.stopNodelet('mini');
    assert.equal(scrubOf(world)?.outcome, 'Running');
    await world.stopControllers();
    await rm(join(world.folderOf('mini'), 'scrub-hook'));
    world.startNodelet('mini');
    await world.until('the nodelet has answered', () => scrubOf(world)?.clearing?.result === 'Cleared');
    assert.equal(world.hostTells('mini'), 'waits for a scrub');
    world.startControllers(...DUTIES);
    await world.until('the Mac is free', () => world.hostTells('mini') === 'free');
    assert.equal(scrubOf(world)?.requestedAt, requestedAt);
  });

  it('begins when the nodelet is back, and says meanwhile what it waits for', async () => {
    await using world = await aLeasedMac();
    await endsByForce(world);
    await world.stopNodelet('mini');
    await world.ready('mini', 'Unknown');
    const requestedAt = rfc3339(world.clock.now());
    await world.request('PATCH', 'hosts/mini', { spec: { scrub: { requestedAt } } });
    await world.until('it says so', () => told(world).startsWith('Waiting: waits for its nodelet'));
    await world.passes('1h');
    world.startNodelet('mini');
    await world.ready('mini', 'True');
    await world.until('the Mac is free', () => world.hostTells('mini') === 'free');
  });

  it('forced, goes on when a VM is gone of which the Mac itself tells nothing', async () => {
    await using world = await aLeasedMac();
    await endsByForce(world);
    await asksForScrub(world);
    await world.create(VM, {
      metadata: { name: 'idle', namespace: 'beta' },
      spec: { image: 'linux', power: 'Stopped' },
    });
    await world.until('it is there, and off', () => world.vm('beta/idle')?.status?.phase === 'Stopped');
    await asksForScrub(world, true);
    assert.equal(told(world), 'Succeeded');
    assert.equal(world.vm('beta/idle'), undefined);
  });

  it('forced on a Mac that nobody leases, deletes its VMs first, and no other comes meanwhile', async () => {
    await using world = await aLeasedMac();
    await endsByForce(world);
    await asksForScrub(world);
    await world.runs('acme/a', { image: 'linux' });
    await world.runs('beta/b', { image: 'linux' });
    await asksForScrub(world);
    assert.equal(told(world), 'Refused: 2 VMs are bound to it (acme/a, beta/b); --force removes what remains');
    await world.create(VM, {
      metadata: { name: 'large', namespace: 'beta' },
      spec: { image: 'linux', size: { vcpus: 1, memory: '15Gi' } },
    });
    await world.settles();
    assert.equal(world.vm('beta/large')?.spec.hostName, undefined);
    await asksForScrub(world, true);
    assert.equal(told(world), 'Succeeded');
    assert.deepEqual([world.vm('acme/a'), world.vm('beta/b')], [undefined, undefined]);
    await world.until('then it comes', () => world.vm('beta/large')?.status?.phase === 'Running');
  });
});
