import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AgentConnection } from '../../../../nodelet/agent/agent-connection.ts';
import { guestFiles } from '../../../../nodelet/drivers/qemu/guest-files.ts';
import { QemuProcess } from '../../../../nodelet/drivers/qemu/qemu-process.ts';
import type { Clock } from '../../../../resources/ambient/clock.ts';
import { silentLogger } from '../../../../resources/ambient/log.ts';
import { systemClock } from '../../../../resources/ambient/system-clock.ts';
import { eventually } from '../eventually.ts';

interface Command {
  readonly execute: string;
  readonly id: number;
}

type Agent = AgentConnection & { end(): void };

/** An agent session that ends when told. */
function anAgent(addresses: readonly string[], ping?: () => Promise<void>): Agent {
  const closed = Promise.withResolvers<void>();
  const ended = closed.promise.then(() => Promise.reject(new Error('it was closed')));
  ended.catch(() => {});
  return {
    hello: { agentVersion: '1', bootId: 'b' },
    closed: closed.promise,
    end: () => closed.resolve(),
    async exec() {
      throw new Error('runs nothing');
    },
    ping: () => Promise.race([ended, ping?.() ?? ended]),
    async info() {
      return { hostname: 'g1', addresses, uptimeMs: 1 };
    },
    async shutdown() {},
    async setTime() {},
    async setIdentity() {},
    async [Symbol.asyncDispose]() {
      closed.resolve();
    },
  };
}

/** A second passes in five milliseconds. */
const hurried: Clock = {
  ...{ now: systemClock.now, monotonic: systemClock.monotonic },
  sleep: (ms, signal) => systemClock.sleep(ms / 200, signal),
  after: (ms, run) => systemClock.after(ms / 200, run),
};

describe('a QEMU process', () => {
  let root: string;
  let server: Server;
  let monitor: Socket | undefined;
  let commands: string[];
  let status: string;
  let alive: () => Promise<boolean>;
  let ends: string[];
  let agents: Agent[];
  let qemu: QemuProcess;

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'coppice-proc-'));
    const files = guestFiles(root, { root: tmpdir(), userId: 0 });
    commands = [];
    ends = [];
    agents = [];
    status = 'running';
    alive = async () => true;
    server = createServer((socket) => {
      monitor = socket;
      socket.on('error', () => {});
      socket.write('{"QMP":{}}\r\n');
      socket.on('data', (chunk) => {
        for (const line of chunk.toString().trim().split('\n')) answer(JSON.parse(line));
      });
    });
    await new Promise<void>((resolve) => server.listen(files.qmpSocket, resolve));
    qemu = new QemuProcess({
      pid: 1,
      files,
      clock: hurried,
      log: silentLogger,
      connectAgent: async (_path, signal) =>
        await eventually('an agent or the end', () => agents.shift() ?? (signal.aborted && anAgent([]))),
      alive: () => alive(),
      changed: () => {},
      ended: async (reason) => {
        ends.push(reason);
      },
    });
  });
  afterEach(async () => {
    await qemu[Symbol.asyncDispose]();
    monitor?.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
    await rm(root, { recursive: true, force: true });
  });

  const say = (message: object) => monitor?.write(`${JSON.stringify(message)}\r\n`);
  const answer = ({ execute, id }: Command) => {
    commands.push(execute);
    const returns: Record<string, unknown> = { 'query-status': { status }, 'query-block': [] };
    say({ return: returns[execute] ?? {}, id });
  };

  it('knows the status of the guest, and follows it', async () => {
    await qemu.ready;
    assert.equal(qemu.status, 'running');
    status = 'paused';
    say({ event: 'STOP' });
    await eventually('paused', () => qemu.status === 'paused');
  });

  it('reports a damaged disk, and a full one until the guest runs again', async () => {
    await qemu.ready;
    status = 'io-error';
    say({ event: 'BLOCK_IO_ERROR', data: { nospace: true, action: 'stop' } });
    say({ event: 'STOP' });
    await eventually('full', () => qemu.problem?.reason === 'DiskFull');
    status = 'running';
    say({ event: 'RESUME' });
    await eventually('cured', () => qemu.problem === undefined);
    say({ event: 'BLOCK_IMAGE_CORRUPTED', data: { msg: 'L2 table', fatal: true } });
    const damaged = await eventually('damaged', () => qemu.problem);
    assert.deepEqual(damaged, { reason: 'ImageCorrupt', message: 'its disk is damaged: L2 table' });
  });

  it('notes why the guest ended, once, before it lets QEMU go', async () => {
    await qemu.ready;
    say({ event: 'SHUTDOWN', data: { guest: true, reason: 'guest-shutdown' } });
    await eventually('told to quit', () => commands.includes('quit'));
    assert.deepEqual(ends, ['guest-shutdown']);
    say({ event: 'SHUTDOWN', data: { guest: false, reason: 'host-qmp-quit' } });
    alive = async () => false;
    monitor?.destroy();
    await qemu.gone;
    assert.deepEqual(ends, ['guest-shutdown']);
  });

  it('finds an end that came while nobody listened', async () => {
    await qemu.ready;
    status = 'shutdown';
    monitor?.destroy();
    await eventually('told to quit', () => commands.includes('quit'));
    assert.deepEqual(ends, ['guest-shutdown']);
  });

  it('comes back to a monitor it lost, and takes a failed look at the process for nothing', async () => {
    await qemu.ready;
    alive = async () => {
      throw new Error('no file descriptors left');
    };
    monitor?.destroy();
    await eventually('greeted again', () => commands.filter((c) => c === 'qmp_capabilities').length === 2);
    assert.equal(qemu.ended, false);
  });

  it('reports an agent it lost until there is one again', async () => {
    const [first, second] = [anAgent(['10.0.0.5']), anAgent([])];
    agents.push(first);
    await eventually('agent', () => qemu.agent === first);
    await eventually('addresses', () => qemu.addresses.includes('10.0.0.5'));
    first.end();
    const lost = await eventually('lost', () => qemu.problem);
    assert.equal(lost.reason, 'AgentLost');
    assert.match(lost.message, /it was closed/);
    assert.equal(qemu.agent, undefined);
    assert.equal(qemu.agentAnswered, true);
    agents.push(second);
    await eventually('back', () => qemu.agent === second && qemu.problem === undefined);
  });

  it('reports an agent that has fallen silent until it answers, and keeps its session', async () => {
    let pinged = 0;
    let pong = Promise.withResolvers<void>();
    const agent = anAgent([], () => {
      pinged += 1;
      return pong.promise;
    });
    agents.push(agent);
    await qemu.ready;
    const lost = await eventually('lost', () => qemu.problem);
    assert.equal(lost.reason, 'AgentLost');
    assert.match(lost.message, /not answered for 30 s/);
    assert.deepEqual([qemu.agent, qemu.agentAnswered, pinged], [undefined, false, 1]);
    const before = pong;
    pong = Promise.withResolvers();
    before.resolve();
    await eventually('back', () => qemu.problem === undefined && qemu.agent === agent && qemu.agentAnswered);
    await eventually('lost again', () => qemu.problem);
  });

  it('takes up another session where nobody answers in the old one any more', async () => {
    const [deaf, next] = [anAgent([], () => new Promise(() => {})), anAgent([], async () => {})];
    agents.push(deaf, next);
    await eventually('the next session', () => qemu.agent === next && qemu.problem === undefined);
    await deaf.closed;
  });

  it('expects no answer of a paused guest', async () => {
    let pinged = 0;
    const agent = anAgent([], () => {
      pinged += 1;
      // It is paused while the question is on its way.
      status = 'paused';
      say({ event: 'STOP' });
      return new Promise(() => {});
    });
    agents.push(agent);
    await eventually('asked', () => pinged === 1);
    await eventually('paused', () => qemu.status === 'paused');
    await hurried.sleep(200_000);
    assert.deepEqual([qemu.problem, qemu.agent, pinged], [undefined, agent, 1]);
    status = 'running';
    say({ event: 'RESUME' });
    await eventually('lost', () => qemu.problem?.reason === 'AgentLost');
  });
});
