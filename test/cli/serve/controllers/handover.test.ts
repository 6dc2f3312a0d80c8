import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { DUTY_NAMES } from '../../../../controllers/duties.ts';
import { systemClock } from '../../../../resources/ambient/system-clock.ts';
import { ControllersProcess, ControllersWorld, soon } from '../../../harness/controllers-world.ts';
import { CutProxy } from '../../../harness/cut-proxy.ts';

const ALL = DUTY_NAMES.join();
const done = ({ status }: { readonly status: number }) => status < 400;

describe('processes of controllers', function () {
  this.timeout(180_000);
  let world: ControllersWorld;
  beforeEach(async () => {
    world = await ControllersWorld.start();
    await world.furnish();
  });
  afterEach(() => world[Symbol.asyncDispose]());

  const leadsAll = (one: ControllersProcess) =>
    soon(
      'one leads all',
      () => one.leads.join() === ALL,
      () => one.stdout + one.stderr,
    );
  const bound = (name: string) => soon(`${name} is bound`, () => world.isBound(name));
  /** One that leads all, and one that stands by. */
  async function pair() {
    const leader = await world.process();
    await leadsAll(leader);
    const standby = await world.process();
    await standby.says(/stands by/);
    return { leader, standby };
  }

  it('go on when the leader is killed: VMs created meanwhile are bound', async () => {
    const { leader, standby } = await pair();
    await world.addVM('before');
    await bound('before');
    assert.ok(leader.dutyWrites.some(done));
    assert.deepEqual(standby.dutyWrites, []);
    leader.signal('SIGKILL');
    await leader.ended();
    await world.addVM('meanwhile');
    await bound('meanwhile');
    await leadsAll(standby);
    assert.ok(standby.dutyWrites.some(done));
  });

  it('hand over when the leader stops cleanly, before its Lease would have run out', async () => {
    const { leader, standby } = await pair();
    leader.signal('SIGTERM');
    assert.equal(await leader.ended(), 0);
    assert.match(leader.stdout, /\nstopped; others may lead now\n$/);
    const lastMs = leader.writes.at(-1)?.atMs ?? 0;
    await leadsAll(standby);
    // Each duty was given up by name: nobody had to find a member missing.
    const given = leader.writes.filter(({ method, path }) => method === 'PATCH' && path.includes('/duty-'));
    assert.equal(given.length, DUTY_NAMES.length);
    const [taken] = standby.writes.filter(({ method, path }) => method === 'PATCH' && path.includes('/duty-'));
    assert.ok(taken !== undefined && taken.atMs < lastMs + 3_000);
  });

  it('with other duties each cover all of them', async () => {
    const one = await world.process('--only', 'tenant,placement,image');
    const others = DUTY_NAMES.filter((name) => !['tenant', 'placement', 'image'].includes(name));
    const other = await world.process('--only', others.join());
    await soon('each leads its own', () => one.leads.length + other.leads.length === DUTY_NAMES.length);
    assert.deepEqual([...one.leads, ...other.leads].sort(), [...DUTY_NAMES].sort());
    await world.addVM('a');
    await bound('a');
    other.signal('SIGKILL');
    await other.ended();
    const heir = await world.process('--only', 'host-liveness,garbage');
    await soon('what it can lead is led', () => heir.leads.join() === 'host-liveness,garbage');
    assert.equal(one.leads.join(), 'tenant,image,placement');
  });

  it('share out what a process that dies has led', async () => {
    const { leader, standby } = await pair();
    const third = await world.process();
    await third.says(/stands by/);
    leader.signal('SIGKILL');
    await soon('all is led again', () => standby.leads.length + third.leads.length === DUTY_NAMES.length);
    assert.deepEqual([...standby.leads, ...third.leads].sort(), [...DUTY_NAMES].sort());
  });

  it('do nothing by a term that ended while they were paused', async () => {
    const { leader, standby } = await pair();
    await world.addVM('before');
    await bound('before');
    await world.addVM('last');
    leader.signal('SIGSTOP');
    try {
      await leadsAll(standby);
      await world.addVM('meanwhile');
      for (const name of ['last', 'meanwhile']) await bound(name);
    } finally {
      leader.signal('SIGCONT');
    }
    const wokenMs = systemClock.monotonic();
    await soon('it is a member again', () => leader.leads.length === 0);
    await soon(
      'it renews',
      () => leader.writes.filter(({ atMs, status }) => atMs > wokenMs && status < 300).length > 2,
    );
    assert.deepEqual(
      leader.dutyWrites.filter((write) => write.atMs > wokenMs && done(write)),
      [],
    );
    assert.equal(standby.leads.join(), ALL);
    const holders = new Set(Object.values(await world.leaders()));
    assert.equal(holders.size, 1);
  });

  it('turn to another server when theirs takes what is asked and does not answer', async () => {
    const { path, port } = await world.door();
    await using one = await CutProxy.start(port);
    await using other = await CutProxy.start(port);
    const servers = [one, other].flatMap((proxy) => ['--server', `https://127.0.0.1:${proxy.port}`]);
    await using process = new ControllersProcess(['--kubeconfig', path, ...servers], []);
    await leadsAll(process);
    for (const [at, proxy] of [one, other].entries()) {
      proxy.holdAnswers();
      await world.addVM(`vm-${at}`);
      await bound(`vm-${at}`);
      proxy.cut();
    }
    assert.match(process.stderr, /server does not answer/);
  });

  it('say that they lost their server, and that it is back', async () => {
    const { path, port } = await world.door();
    await using proxy = await CutProxy.start(port);
    const at = `https://127.0.0.1:${proxy.port}`;
    await using process = new ControllersProcess(['--kubeconfig', path, '--server', at], []);
    await leadsAll(process);
    proxy.holdAnswers();
    await process.says(new RegExp(`^cannot reach ${at}: no answer$`, 'm'));
    proxy.cut();
    await process.says(new RegExp(`^reaches ${at} again$`, 'm'));
  });

  it('use a credential that was renewed, without a restart', async () => {
    const { path, port } = await world.door();
    const renewed = readFileSync(path, 'utf8');
    const server = ['--server', `https://127.0.0.1:${port}`];
    await using process = new ControllersProcess(['--kubeconfig', path, ...server], []);
    await leadsAll(process);
    writeFileSync(path, `${renewed}\n# written again\n`);
    await soon('it is read again', () => /credential read again/.test(process.stderr));
    await world.addVM('after');
    await bound('after');
    assert.equal(process.leads.join(), ALL);
  });

  it('tell their health, and what each duty does', async () => {
    const one = await world.process('--only', 'tenant', '--health-port', '0');
    await one.says(/stands by/);
    const [, url = ''] = /health on (\S+)\/readyz/.exec(one.stdout) ?? [];
    await soon('it is of use', async () => (await fetch(`${url}/readyz`)).status === 200);
    await soon('it leads', () => one.leads.join() === 'tenant');
    const status = (await (await fetch(`${url}/status`)).json()) as { readonly duties: object };
    assert.deepEqual(status.duties, { tenant: { state: 'running', waiting: 0 } });
    assert.equal((await fetch(`${url}/other`)).status, 404);
  });

  it('do not begin by a credential that may not act for duties', async () => {
    const { path } = await world.door();
    const stranger = readFileSync(path, 'utf8').replace(
      /client-certificate-data: .*\n.*client-key-data: .*/,
      'token: x',
    );
    assert.match(stranger, /token: x/);
    writeFileSync(path, stranger);
    await using process = new ControllersProcess(['--kubeconfig', path], []);
    assert.equal(await process.ended(), 1);
    assert.match(process.stderr, /^error: the credential may not act for duties: /m);
  });
});
