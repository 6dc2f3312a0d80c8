import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { takeLock } from '../../../cli/serve/lock.ts';
import type { HostProcesses } from '../../../nodelet/drivers/qemu/host-processes.ts';
import { systemClock } from '../../../resources/ambient/system-clock.ts';

const OWN = 100;
const OTHER = 200;

describe('the lock of a home', () => {
  let folder: string;
  let path: string;
  const children: ChildProcess[] = [];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'coppice-lock-'));
    path = join(folder, 'up.pid');
  });
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  const take = (pid: number, processes: HostProcesses = machine('boot-1', { [OWN]: 'at 1', [OTHER]: 'at 2' })) =>
    takeLock(path, { processes, pid, clock: systemClock });
  const holder = () => JSON.parse(readFileSync(path, 'utf8')).pid;

  it('names who runs, and goes when it is given free', async () => {
    const lock = await take(OWN);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    await assert.rejects(take(OTHER), {
      message: `coppice is already running on this home as pid ${OWN}`,
      hint: `stop it with "kill -INT ${OWN}", or choose another --home`,
    });
    assert.equal(holder(), OWN);
    lock[Symbol.dispose]();
    assert.ok(!existsSync(path));
    using _other = await take(OTHER);
    assert.equal(holder(), OTHER);
  });

  const stale: [string, unknown][] = [
    ['of a dead process', { pid: 300, startTime: 'at 3', bootId: 'boot-1' }],
    ['of a process whose number was given to another', { pid: OTHER, startTime: 'at 0', bootId: 'boot-1' }],
    ['of an earlier boot', { pid: OTHER, startTime: 'at 2', bootId: 'boot-0' }],
    ['of something else', ['up']],
  ];
  for (const [what, content] of stale) {
    it(`replaces a file ${what}`, async () => {
      writeFileSync(path, JSON.stringify(content));
      using _lock = await take(OWN);
      assert.equal(holder(), OWN);
    });
  }

  it('replaces a file that was written half', async () => {
    writeFileSync(path, '{"pid":200,"startT');
    using _lock = await take(OWN);
    assert.equal(holder(), OWN);
  });

  it('leaves the file of another alone when it is given free', async () => {
    const lock = await take(OWN);
    writeFileSync(path, JSON.stringify({ pid: OTHER, startTime: 'at 2', bootId: 'boot-1' }));
    lock[Symbol.dispose]();
    assert.equal(holder(), OTHER);
  });

  it('lets the second look only when the first has looked and written', async () => {
    writeFileSync(path, JSON.stringify({ pid: 300, startTime: 'at 3', bootId: 'boot-1' }));
    const found = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const known = machine('boot-1', { [OWN]: 'at 1', [OTHER]: 'at 2' });
    const first = take(OWN, {
      ...known,
      async find(pid) {
        const answer = await known.find(pid);
        if (pid !== 300) return answer;
        found.resolve();
        await go.promise;
        return answer;
      },
    });
    await found.promise;
    // Both have the dead process before them; the second, were it let, would throw out the first.
    const waiting = Promise.withResolvers<void>();
    const clock = {
      ...systemClock,
      sleep: (ms: number) => {
        waiting.resolve();
        return systemClock.sleep(ms);
      },
    };
    const second = takeLock(path, { processes: known, pid: OTHER, clock });
    second.catch(() => {});
    await waiting.promise;
    assert.equal(holder(), 300);
    go.resolve();
    using _lock = await first;
    await assert.rejects(second, /already running on this home as pid 100/);
    assert.equal(holder(), OWN);
  });

  it('goes to exactly one of several processes that race for a stale file', async () => {
    const racer = join(import.meta.dirname, 'lock-racer.ts');
    for (let round = 0; round < 5; round++) {
      writeFileSync(path, JSON.stringify({ pid: 2 ** 22 + 1, startTime: '1', bootId: 'boot-0' }));
      if (children.length === 0)
        for (let i = 0; i < 3; i++)
          children.push(spawn(process.execPath, [racer, path], { stdio: ['pipe', 'pipe', 'inherit'] }));
      const answers = await Promise.all(children.map((child) => ask(child, 'take')));
      assert.equal(answers.filter((answer) => answer === 'won').length, 1, answers.join(' | '));
      const winner = children[answers.indexOf('won')];
      assert.equal(holder(), winner?.pid);
      for (const answer of answers)
        if (answer !== 'won') assert.equal(answer, `coppice is already running on this home as pid ${winner?.pid}`);
      await Promise.all(children.map((child) => ask(child, 'free')));
      assert.ok(!existsSync(path));
    }
  });

  it('says what is in the way', async () => {
    writeFileSync(`${path}.turn`, 'not a database, and long enough to tell'.repeat(50));
    await assert.rejects(take(OWN), { name: 'Failure', message: /up\.pid\.turn cannot be locked/ });
  });
});

function machine(boot: string, startTimes: Readonly<Record<number, string>>): HostProcesses {
  return {
    bootId: async () => boot,
    async find(pid) {
      const startTime = startTimes[pid];
      return startTime === undefined ? undefined : { startTime, argv: '' };
    },
    containing: async () => [],
  };
}

async function ask(child: ChildProcess, word: string): Promise<string> {
  const answer = once(child.stdout ?? child, 'data');
  child.stdin?.write(`${word}\n`);
  const [data] = await answer;
  return String(data).trim();
}
