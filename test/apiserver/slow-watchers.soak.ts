import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { Agent } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { UpProcess } from '../cli/up/up-process.ts';
import { type AdminConnection, adminConnection } from '../harness/admin-connection.ts';
import { tlsRequest } from '../harness/tls-request.ts';
import { TlsWatcher } from '../harness/tls-watcher.ts';
import { until } from '../harness/until.ts';

const WATCHERS = Number(process.env.COPPICE_WATCHERS ?? 1000);
const UPDATES = Number(process.env.COPPICE_UPDATES ?? 2000);
const OBJECT_BYTES = Number(process.env.COPPICE_OBJECT_BYTES ?? 20_000);
/** Of the server’s memory: three times what it may hold unread, and for each connection what TLS and one piece take. */
const MOST_MIB = 3 * 64;
const MOST_MIB_A_WATCHER = 0.25;
const OBJECTS = 20;
const WRITERS = 4;
const PATH = '/api/v1/namespaces/default/configmaps';
const MIB = 1 << 20;

describe(`a server with ${WATCHERS} watchers that do not read`, () => {
  it(`takes ${UPDATES} updates of ${OBJECT_BYTES} bytes, tells one that reads all of them, and stays within its memory`, async function () {
    this.timeout(600_000);
    const home = await mkdtemp(join(tmpdir(), 'coppice-slow-'));
    await using held = new AsyncDisposableStack();
    held.defer(() => rm(home, { recursive: true, force: true }));
    const up = held.use(new UpProcess(home, ['--driver', 'sim', '--hosts', '1', '--no-quickstart']));
    await up.says(/up in/, 60_000);
    const admin = await adminConnection(home);
    const agent = new Agent({ ca: admin.ca, keepAlive: true, maxSockets: WRITERS });
    held.defer(() => agent.destroy());
    const put = (i: number) => update(admin, agent, i);
    for (let i = 0; i < OBJECTS; i++) await put(i);

    const memory = new Memory(up.pid);
    held.defer(() => memory.stop());
    const alone = await run(put, UPDATES);
    console.log(
      `      without them: ${alone.perSecond.toFixed(0)} updates/s, p50 ${alone.p50.toFixed(1)} ms, p99 ${alone.p99.toFixed(1)} ms, RSS ${memory.peak()} MiB at most`,
    );

    const good = held.use(await TlsWatcher.open(admin, PATH));
    good.read();
    const slow = await openAll(admin, WATCHERS / 2);
    held.defer(() => {
      for (const watcher of slow) watcher[Symbol.dispose]();
    });
    memory.reset();
    const before = await memory.now();
    console.log(`      with half of them, before any update: RSS ${before} MiB`);
    const first = await run(put, UPDATES / 2);
    // Those who come later have other events unread.
    for (let some = 0; some < 5; some++) {
      slow.push(...(await openAll(admin, WATCHERS / 10)));
      await run(put, UPDATES / 20);
    }
    const among = await run(put, UPDATES / 4);
    console.log(
      `      while they fell behind: ${first.perSecond.toFixed(0)} updates/s, p50 ${first.p50.toFixed(1)} ms`,
    );
    console.log(
      `      with them: ${among.perSecond.toFixed(0)} updates/s, p50 ${among.p50.toFixed(1)} ms, p99 ${among.p99.toFixed(1)} ms, RSS ${memory.peak()} MiB at most, ${await memory.now()} MiB after`,
    );
    const most = MOST_MIB + WATCHERS * MOST_MIB_A_WATCHER;
    assert.ok(memory.peak() - before <= most, `${memory.peak() - before} MiB more, not ${most}`);
    await until('the one that reads is told all', () => good.over || good.events >= UPDATES + OBJECTS);
    assert.ok(!good.over, `the one that reads was ended, ${good.events} events told`);
    assert.equal(good.events, UPDATES + OBJECTS);
    const longest = slow.slice(0, WATCHERS / 2);
    for (const watcher of longest) watcher.read();
    const deadline = performance.now() + 300_000;
    while (longest.some((watcher) => !watcher.over)) {
      assert.ok(performance.now() < deadline, `${longest.filter((watcher) => !watcher.over).length} were not ended`);
      await delay(100);
    }
    const told = longest.map(({ events }) => events).sort((a, b) => a - b);
    console.log(`      they were told ${told[0]} to ${told.at(-1)} events before their end`);
  });
});

async function run(put: (i: number) => Promise<void>, count: number) {
  const times: number[] = [];
  let next = 0;
  const began = performance.now();
  await Promise.all(
    Array.from({ length: WRITERS }, async () => {
      while (next < count) {
        const i = next++;
        const at = performance.now();
        await put(i);
        times.push(performance.now() - at);
      }
    }),
  );
  const perSecond = (count / (performance.now() - began)) * 1000;
  times.sort((a, b) => a - b);
  return { perSecond, p50: times[Math.floor(count / 2)] ?? 0, p99: times[Math.floor(count * 0.99)] ?? 0 };
}

let sent = 0;
async function update({ url, token }: AdminConnection, agent: Agent, i: number): Promise<void> {
  const name = `big-${i % OBJECTS}`;
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/apply-patch+yaml' };
  const text = `${sent++}`.padStart(OBJECT_BYTES, 'x');
  const body = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { text } });
  const answer = await tlsRequest(`${url}${PATH}/${name}?fieldManager=soak`, { method: 'PATCH', agent, headers, body });
  assert.ok(answer.status === 200 || answer.status === 201, `${answer.status} ${answer.text}`);
}

async function openAll(admin: AdminConnection, count: number): Promise<TlsWatcher[]> {
  const all: TlsWatcher[] = [];
  while (all.length < count) {
    const some = Math.min(50, count - all.length);
    all.push(...(await Promise.all(Array.from({ length: some }, () => TlsWatcher.open(admin, PATH)))));
  }
  return all;
}

/** The resident memory of a process, in MiB. */
class Memory {
  readonly #pid: number;
  #peak = 0;
  readonly #timer: NodeJS.Timeout;

  constructor(pid: number) {
    this.#pid = pid;
    this.#timer = setInterval(() => void this.now(), 50);
  }

  async now(): Promise<number> {
    const text = await readFile(`/proc/${this.#pid}/status`, 'utf8').catch(() => '');
    const rss = Math.round((Number(/VmRSS:\s+(\d+) kB/.exec(text)?.[1]) * 1024) / MIB);
    this.#peak = Math.max(this.#peak, rss);
    return rss;
  }

  peak(): number {
    return this.#peak;
  }

  reset(): void {
    this.#peak = 0;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
