import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { hostname } from 'node:os';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { processMark } from '../../../cli/serve/controllers/process-mark.ts';
import { machineProcesses } from '../../../nodelet/drivers/qemu/machine-processes.ts';
import type { Clock } from '../../../resources/ambient/clock.ts';
import { systemClock as clock } from '../../../resources/ambient/system-clock.ts';
import { etcdForEach } from '../../harness/etcd-for-each.ts';
import { type EtcdServer, killOf } from '../../harness/etcd-server.ts';
import { until } from '../../harness/until.ts';
import { EtcdHome } from './etcd-home.ts';
import { RawRoot } from './raw-root.ts';
import { write } from './store-maker.ts';

const HOLDER = fileURLToPath(new URL('./sole-holder.ts', import.meta.url));
/** More than a lease lasts. */
const LONG_MS = 30_000;
const POLLS = 20;
const grouped = { room: 64 } as const;
const processes = machineProcesses(clock);
const holderMark = () => processMark({ processes, hostname: hostname(), pid: process.pid });

describe('the sole right to a store in etcd, held by another process', () => {
  let etcd: EtcdServer;
  etcdForEach((started) => {
    etcd = started;
  });

  it('is taken over from one that was killed on this machine without waiting', async () => {
    await using home = new EtcdHome(etcd);
    using raw = new RawRoot(home);
    await using holder = new Holder(home, hostname());
    await holder.says('sole');
    await holder.kill();
    assert.equal((await raw.keys('sole')).size, 1);
    // Nobody gets in by waiting by a clock that stands still.
    const store = await home.open({ ...grouped, holderMark, clock: { ...clock, monotonic: () => 0 } });
    assert.equal((await raw.keys('sole')).size, 0);
    await write(store, { put: { a: '1' } });
  });

  it('is waited for when the one that held it was on another machine', async () => {
    await using home = new EtcdHome(etcd);
    using raw = new RawRoot(home);
    await using holder = new Holder(home, 'elsewhere');
    await holder.says('sole');
    await holder.kill();
    let aheadMs = 0;
    const byHand: Clock = { ...clock, monotonic: () => aheadMs };
    let isOpen = false;
    const opening = home.open({ ...grouped, holderMark, clock: byHand }).finally(() => {
      isOpen = true;
    });
    await until('it waits', async () => (await raw.calls('Txn')) > 0);
    const before = await raw.calls('Txn');
    await until('it asks again and again', async () => (await raw.calls('Txn')) > before + POLLS);
    assert.equal(isOpen, false);
    aheadMs = 1_500;
    await write(await opening, { put: { a: '1' } });
  });

  it('is gained while another is halted, whose write is seen by every read after it', async function () {
    this.timeout(LONG_MS * 3);
    await using home = new EtcdHome(etcd);
    const store = await home.open({ ...grouped, holderMark });
    await using other = new Holder(home, hostname());
    await other.says('open');
    other.pause();
    await until('it is alone', () => store.present() !== undefined, LONG_MS);
    const own = await write(store, { put: { a: 'ours' } });
    other.ask('a theirs');
    other.resume();
    const written = Number((await other.says('at')).split(' ')[1]);
    assert.ok((store.present() ?? (await store.latest())) >= written);
    assert.ok(written > own);
  });
});

/** A process that has the store open. */
class Holder implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #lines: Interface;
  readonly #said: string[] = [];

  constructor({ etcd, root }: EtcdHome, machine: string) {
    const child = spawn(process.execPath, [HOLDER, etcd.endpoint, root, machine], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    if (child.stdout === null) throw new TypeError('a process without an output');
    this.#child = child;
    process.once('exit', killOf(child));
    this.#lines = createInterface({ input: child.stdout }).on('line', (line) => this.#said.push(line));
  }

  /** The line that begins so. */
  async says(word: string): Promise<string> {
    const found = () => this.#said.find((line) => line.startsWith(word));
    await until(`it says ${word}`, () => found() !== undefined, LONG_MS);
    return found() ?? '';
  }

  ask(line: string): void {
    this.#child.stdin?.write(`${line}\n`);
  }

  pause(): void {
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await gone;
    this.#lines.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }
}
