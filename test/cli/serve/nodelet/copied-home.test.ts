import assert from 'node:assert/strict';
import { cp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../../../../resources/ambient/system-clock.ts';
import type { Condition } from '../../../../resources/meta/condition.ts';
import { CliFolder } from '../../../harness/run-cli.ts';
import { UpProcess } from '../../up/up-process.ts';

const START_MS = 60_000;
/** Ten times what it takes on a machine at rest. */
const DEADLINE_MS = 90_000;
const FLEET = `
apiVersion: coppice.dev/v1
kind: Tenant
metadata: {name: demo}
spec: {hostGroup: far}
---
apiVersion: coppice.dev/v1
kind: Image
metadata: {name: tiny-linux}
spec: {guestOS: linux, source: {path: tiny-linux}}
`;
const vm = (name: string) => `
apiVersion: coppice.dev/v1
kind: VM
metadata: {name: ${name}, namespace: demo}
spec: {image: tiny-linux, size: {vcpus: 1, memory: 128Mi}, power: Running}
`;

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const endMs = systemClock.monotonic() + DEADLINE_MS;
  while (!(await holds())) {
    if (systemClock.monotonic() > endMs) throw new Error(`never came true: ${what}`);
    await systemClock.sleep(50, new AbortController().signal);
  }
}

describe('the copied home of a nodelet', function () {
  this.timeout(300_000);
  let running: AsyncDisposableStack;
  let folder: CliFolder;
  const homeOf = (name: string) => join(folder.path, name);
  const start = (home: string, more: readonly string[] = []) =>
    running.use(new UpProcess(homeOf(home), more, {}, 'nodelet'));
  const run = (...argv: string[]) => folder.run(['--kubeconfig', join(homeOf('up'), 'kubeconfig'), ...argv]);
  const apply = async (text: string) => {
    const { code, stderr } = await run('apply', '-f', await folder.write('applied.yaml', text));
    assert.equal(code, 0, stderr);
  };
  const get = async (...what: string[]) => JSON.parse((await run('get', ...what, '-o', 'json')).stdout);
  const guestOf = async (name: string) => (await get('vm', name, '-n', 'demo')).status?.guest?.id as string | undefined;
  const isReady = async (name: string) => {
    const conditions: Condition[] = (await get('vm', name, '-n', 'demo')).status?.conditions ?? [];
    return conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
  };
  /** Whether a home has the guest, whatever it does. */
  const has = async (home: string, guest: string) =>
    (await readFile(join(homeOf(home), 'hosts', 'sim-guests.json'), 'utf8')).includes(guest);
  const answers = async () => (await run('exec', '-n', 'demo', 'first', '--', 'uname')).code === 0;

  before(async () => {
    running = new AsyncDisposableStack();
    folder = running.use(await CliFolder.make());
    const up = running.use(new UpProcess(homeOf('up'), ['--driver', 'sim', '--hosts', '1', '--no-quickstart']));
    await up.says(/^up in /m, START_MS);
    await apply(FLEET);
  });
  after(() => running?.disposeAsync());

  it('starts nothing while the first is at work, says why, and goes on when that is killed', async () => {
    const server = /server: (\S+)/.exec(await readFile(join(homeOf('up'), 'kubeconfig'), 'utf8'))?.[1] ?? '';
    const token = (await run('host', 'token', 'far', '--group', 'far')).stdout.trim();
    let first = start('far', ['--server', server, '--token', token, '--driver', 'sim']);
    await first.says(/^up in /m, START_MS);
    await apply(vm('first'));
    await until('the first VM is ready', () => isReady('first'));
    const guest = await guestOf('first');

    await cp(homeOf('far'), homeOf('copy'), { recursive: true });
    await rm(join(homeOf('copy'), 'up.pid'));
    const copy = start('copy');
    await copy.says(/this nodelet does not act/, START_MS);
    await until('people see it', async () => {
      const { items } = await get('events', '-n', 'default');
      return items.some((event: { reason: string; message: string }) => {
        return event.reason === 'SecondNodelet' && event.message.includes(homeOf('far'));
      });
    });
    await apply(vm('second'));
    await until('the second VM is ready', () => isReady('second'));
    const second = (await guestOf('second')) ?? '';
    assert.ok(await has('far', second));

    // The first again, before the copy has its turn: whichever comes first, one of them only.
    await copy.end('SIGTERM');
    await first.end('SIGKILL');
    first = start('far');
    await first.says(/^up in /m, START_MS);
    await until('it is back', answers);
    assert.equal(await guestOf('first'), guest);

    const later = start('copy');
    await later.says(/this nodelet does not act/, START_MS);
    await apply(vm('third'));
    await until('the third VM is ready', () => isReady('third'));
    const third = (await guestOf('third')) ?? '';
    assert.ok(!(await has('copy', second)) && !(await has('copy', third)), 'the copy made guests of its own');
    await first.end('SIGKILL');
    await apply(vm('fourth'));
    await until('the copy has taken over', () => isReady('fourth'));
    assert.ok(await has('copy', (await guestOf('fourth')) ?? ''));
    await until('it serves what it adopted', answers);
    assert.equal(await guestOf('first'), guest);
  });
});
