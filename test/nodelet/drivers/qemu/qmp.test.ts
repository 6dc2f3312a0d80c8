import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { QmpClient, type QmpEvent } from '../../../../nodelet/drivers/qemu/qmp.ts';
import { ManualClock } from '../../../../resources/ambient/manual-clock.ts';
import { eventually } from '../eventually.ts';

const { signal } = new AbortController();
const GREETING = '{"QMP": {"version": {}, "capabilities": []}}\r\n';

interface Command {
  readonly execute: string;
  readonly id: number;
}

describe('the monitor client', () => {
  let root: string;
  let server: Server;
  let peer: Socket | undefined;
  let commands: Command[];
  let events: QmpEvent[];
  let clock: ManualClock;
  let socketPath: string;

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'coppice-qmp-'));
    socketPath = join(root, 'qmp.sock');
    commands = [];
    events = [];
    clock = new ManualClock();
    peer = undefined;
  });
  afterEach(async () => {
    peer?.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
    await rm(root, { recursive: true, force: true });
  });

  /** Listens as a QEMU does; `greet` false: as one whose monitor another client has. */
  const listen = async (greet = true) => {
    server = createServer((socket) => {
      peer = socket;
      socket.on('error', () => {});
      if (greet) socket.write(GREETING);
      socket.on('data', (chunk) => {
        for (const line of chunk.toString().trim().split('\n')) {
          const command: Command = JSON.parse(line);
          commands.push(command);
          if (command.execute === 'qmp_capabilities') say({ return: {}, id: command.id });
        }
      });
    });
    await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  };
  const say = (message: object) => peer?.write(`${JSON.stringify(message)}\r\n`);
  const open = () => QmpClient.connect({ socketPath, clock, onEvent: (event) => events.push(event) }, signal);
  const received = (execute: string) =>
    eventually(`${execute} came`, () => commands.find((c) => c.execute === execute));

  it('greets, and matches replies with their commands whatever comes between', async () => {
    await listen();
    await using client = await open();
    const status = client.execute('query-status', {}, signal);
    const block = client.execute('query-block', {}, signal);
    const [first, second] = [await received('query-status'), await received('query-block')];
    say({ event: 'STOP', timestamp: {} });
    say({ return: [], id: second.id });
    say({ return: { status: 'paused' }, id: first.id });
    assert.deepEqual(await status, { status: 'paused' });
    assert.deepEqual(await block, []);
    assert.deepEqual(events, [{ event: 'STOP', data: {} }]);
  });

  it('puts split lines together, and takes many from one chunk', async () => {
    await listen();
    await using client = await open();
    const status = client.execute('query-status', {}, signal);
    const { id } = await received('query-status');
    const text = `{"event":"RESUME","data":{"n":"ä"}}\r\n{"return":{"status":"running"},"id":${id}}\r\n`;
    for (const byte of Buffer.from(text)) {
      peer?.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.deepEqual(await status, { status: 'running' });
    assert.deepEqual(events, [{ event: 'RESUME', data: { n: 'ä' } }]);
  });

  it('rejects a refused command with what QEMU says', async () => {
    await listen();
    await using client = await open();
    const cont = client.execute('cont', {}, signal);
    const { id } = await received('cont');
    say({ error: { class: 'GenericError', desc: 'Resetting the Virtual Machine is required' }, id });
    await assert.rejects(cont, {
      name: 'QmpError',
      className: 'GenericError',
      message: 'cont: Resetting the Virtual Machine is required',
    });
  });

  it('drops the late reply of a command nobody waits for', async () => {
    await listen();
    await using client = await open();
    const leaving = new AbortController();
    const cont = client.execute('cont', {}, leaving.signal);
    const { id } = await received('cont');
    leaving.abort(new Error('left'));
    await assert.rejects(cont, /left/);
    say({ return: {}, id });
    const status = client.execute('query-status', {}, signal);
    say({ return: 1, id: (await received('query-status')).id });
    assert.equal(await status, 1);
  });

  it('gives up when no greeting comes: another program has the monitor', async () => {
    await listen(false);
    const opening = assert.rejects(open(), /no greeting from the monitor within 1000 ms/);
    await eventually('connected', () => peer !== undefined);
    await clock.advance(1000);
    await opening;
  });

  it('rejects when nobody listens', async () => {
    await listen();
    await assert.rejects(QmpClient.connect({ socketPath: join(root, 'none'), clock, onEvent() {} }, signal), {
      code: 'ENOENT',
    });
    assert.equal(clock.waiting, 0);
  });

  it('ends a session whose line is too long, without keeping it', async () => {
    await listen();
    const client = await open();
    const status = assert.rejects(client.execute('query-status', {}, signal), /longer than 1048576 bytes/);
    await received('query-status');
    const part = Buffer.alloc(64 * 1024, 120);
    for (let i = 0; i < 20; i++) peer?.write(part);
    await status;
    await client.closed;
    await assert.rejects(client.execute('query-status', {}, signal), /longer than/);
  });

  for (const [what, line] of [
    ['what is not JSON', 'hello'],
    ['JSON that means nothing', '{"hello":1}'],
  ] as const) {
    it(`ends a session that says ${what}`, async () => {
      await listen();
      const client = await open();
      peer?.write(`${line}\n`);
      await client.closed;
    });
  }

  it('rejects what waits when QEMU goes away', async () => {
    await listen();
    const client = await open();
    const status = assert.rejects(client.execute('query-status', {}, signal), /closed the connection/);
    await received('query-status');
    peer?.destroy();
    await status;
    await client.closed;
  });

  it('keeps no place for what nobody waits for', async () => {
    await listen();
    await using client = await open();
    const leaving = new AbortController();
    const left = Array.from({ length: 64 }, () =>
      client.execute('query-status', {}, leaving.signal).catch(() => 'left'),
    );
    leaving.abort();
    await Promise.all(left);
    const cont = client.execute('cont', {}, signal);
    say({ return: {}, id: (await received('cont')).id });
    assert.deepEqual(await cont, {});
  });

  it('bounds what may wait', async () => {
    await listen();
    const client = await open();
    const waiting = Array.from({ length: 64 }, () => client.execute('query-status', {}, signal).catch(() => 'ended'));
    await assert.rejects(client.execute('query-status', {}, signal), /64 monitor commands wait/);
    await client[Symbol.asyncDispose]();
    assert.deepEqual(new Set(await Promise.all(waiting)), new Set(['ended']));
  });
});
