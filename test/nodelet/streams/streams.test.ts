import assert from 'node:assert/strict';
import { type Driver, DriverError, type ExecRequest } from '../../../nodelet/drivers/driver.ts';
import { SimDriver } from '../../../nodelet/drivers/sim/sim-driver.ts';
import { Dialback } from '../../../nodelet/streams/dialback.ts';
import { silentLogger } from '../../../resources/ambient/log.ts';
import { systemClock } from '../../../resources/ambient/system-clock.ts';
import {
  CHANNEL,
  closeFrame,
  encodeFrame,
  exitCodeOf,
  MAX_MESSAGE_BYTES,
} from '../../../resources/streams/channel-frames.ts';
import type { StreamRequest } from '../../../resources/streams/control-messages.ts';
import { eventually } from '../drivers/eventually.ts';
import { memorySimHost } from '../drivers/sim/memory-sim-host.ts';
import { ScriptedProcess } from './scripted-process.ts';
import { received, receivedBytes, StreamServer } from './stream-server.ts';

const MIB = 1024 ** 2;
const GUEST = 'guest-1';

/** A simulated host but for commands named `scripted`, which do what the test says. */
class ScriptedDriver extends SimDriver {
  readonly processes: ScriptedProcess[] = [];
  prepare: (process: ScriptedProcess) => void = () => {};
  fail: Error | undefined;

  override async exec(id: string, request: ExecRequest, signal: AbortSignal) {
    if (this.fail !== undefined) throw this.fail;
    if (request.command[0] !== 'scripted') return super.exec(id, request, signal);
    const scripted = new ScriptedProcess(signal);
    this.prepare(scripted);
    this.processes.push(scripted);
    return scripted;
  }
}

describe('streams of a nodelet', () => {
  let server: StreamServer;
  let driver: ScriptedDriver;
  let dialback: Dialback;
  let ending: AbortController;

  beforeEach(async () => {
    server = await StreamServer.listen();
    driver = new ScriptedDriver({
      host: memorySimHost(),
      capacity: { vcpus: 8, memoryBytes: 16 * 1024 * MIB, diskBytes: 1024 * MIB },
      clock: systemClock,
      startMs: { linux: 0, macos: 0 },
    });
    ending = new AbortController();
    const image = await driver.image('tiny');
    await driver.create(
      {
        id: GUEST,
        label: 'demo/a',
        hostname: 'a',
        guestOS: 'linux',
        image: { path: 'tiny', digest: image?.digest ?? '' },
        vcpus: 1,
        memoryBytes: MIB,
        diskBytes: 0,
        epoch: 1,
      },
      ending.signal,
    );
    await driver.start(GUEST, ending.signal);
    dialback = new Dialback({
      host: 'mac-1',
      driver: driver as Driver,
      clock: systemClock,
      log: silentLogger,
    });
  });
  afterEach(async () => {
    ending.abort();
    await dialback.drained();
    await driver[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  const open = async (stream: StreamRequest) => {
    const { ticket, socket } = server.ticket();
    dialback.dial(ticket, stream, { url: server.url }, ending.signal);
    return socket;
  };
  const exec = (command: string[], options: { stdin?: boolean; tty?: boolean; guestID?: string } = {}) =>
    open({ kind: 'exec', guestID: GUEST, command, stdin: false, tty: false, ...options });
  const scripted = async (prepare: (process: ScriptedProcess) => void = () => {}, stdin = true) => {
    driver.prepare = prepare;
    const socket = await exec(['scripted'], { stdin });
    const command = await eventually('the command runs', () => driver.processes.at(-1));
    return { socket, command };
  };
  const codeOf = (status: unknown) => exitCodeOf(status as Parameters<typeof exitCodeOf>[0]);

  describe('exec', () => {
    it('sends what the command writes, then how it ended, then closes', async () => {
      const socket = await exec(['echo', 'hello']);
      const result = await received(socket);
      assert.equal(result.stdout, 'hello\n');
      assert.deepEqual(codeOf(result.status), { code: 0 });
      assert.equal(result.code, 1000);
      assert.ok(server.paths.includes('/apis/coppice.dev/v1/hosts/mac-1/dialback'));
    });

    it('tells the exit code, and keeps the two outputs apart', async () => {
      const result = await received(await exec(['no-such-command']));
      assert.equal(result.stdout, '');
      assert.match(result.stderr, /is not simulated/);
      assert.deepEqual(codeOf(result.status), { code: 127 });
    });

    it('gives the command what the client sends, and its end', async () => {
      const socket = await exec(['cat'], { stdin: true });
      const result = received(socket);
      for (const word of ['one ', 'two ', 'three']) socket.send(encodeFrame(CHANNEL.stdin, Buffer.from(word)));
      socket.send(closeFrame(CHANNEL.stdin));
      assert.equal((await result).stdout, 'one two three');
      assert.deepEqual(codeOf((await result).status), { code: 0 });
    });

    it('gives no input to a command that takes none', async () => {
      const { socket, command } = await scripted(() => {}, false);
      socket.send(encodeFrame(CHANNEL.stdin, Buffer.from('x')));
      socket.send(encodeFrame(CHANNEL.resize, Buffer.from('{"Width":80,"Height":24}')));
      await eventually('the message after it was taken', () => command.sizes.length === 1);
      assert.equal(command.takenBytes, 0);
    });

    it('passes on sizes of the terminal, and passes over what is none', async () => {
      const { socket, command } = await scripted();
      const resize = (text: string) => socket.send(encodeFrame(CHANNEL.resize, Buffer.from(text)));
      for (const text of ['{"Width":100,"Height":50}', '{', '{"Width":-1,"Height":5}', '{"Width":7,"Height":9}'])
        resize(text);
      await eventually('both are passed on', () => command.sizes.length === 2);
      assert.deepEqual(command.sizes, [
        [50, 100],
        [9, 7],
      ]);
    });

    it('splits large output into messages no larger than allowed', async () => {
      const { socket, command } = await scripted((process) => {
        process.stdout = chunks(3, MIB);
      });
      let largest = 0;
      socket.on('message', (data) => {
        largest = Math.max(largest, (data as Buffer).length);
      });
      const result = received(socket);
      command.end(0);
      assert.equal((await result).stdout.length, 3 * MIB);
      assert.equal(largest, MAX_MESSAGE_BYTES);
    });

    it('kills the command when the client goes', async () => {
      const { socket, command } = await scripted();
      assert.equal(command.killed.aborted, false);
      socket.terminate();
      await eventually('it is killed', () => command.killed.aborted);
      await eventually('the stream is over', () => dialback.streams === 0);
    });

    it('kills the command when the nodelet ends', async () => {
      const { command } = await scripted();
      ending.abort();
      await dialback.drained();
      assert.equal(command.killed.aborted, true);
    });

    it('closes with a code of its own when the streams break', async () => {
      const { socket, command } = await scripted();
      const result = received(socket);
      command.break(new DriverError('StreamBroken', 'the guest went away'));
      assert.equal((await result).code, 4410);
      assert.equal((await result).reason, 'the guest went away');
      assert.equal((await result).status, undefined);
    });

    for (const [reason, code] of [
      ['NoSuchGuest', 4404],
      ['NotRunning', 4409],
      ['StreamBroken', 4410],
      ['AgentUnavailable', 4503],
      ['Failed', 4500],
    ] as const) {
      it(`closes with ${code} when the driver answers ${reason}`, async () => {
        driver.fail = new DriverError(reason, 'a sentence');
        const result = await received(await exec(['true']));
        assert.equal(result.code, code);
        assert.equal(result.reason, 'a sentence');
      });
    }

    it('cuts a long reason at a character', async () => {
      driver.fail = new DriverError('Failed', 'ü'.repeat(100));
      const result = await received(await exec(['true']));
      assert.equal(result.reason, 'ü'.repeat(60));
    });

    it('takes no more input than the command does, and harms no other stream', async () => {
      const gate = Promise.withResolvers<void>();
      const { socket, command } = await scripted((process) => {
        process.gate = gate.promise;
      });
      const total = 64;
      const piece = encodeFrame(CHANNEL.stdin, new Uint8Array(MAX_MESSAGE_BYTES - 1));
      for (let sent = 0; sent < total * MIB; sent += MAX_MESSAGE_BYTES) socket.send(piece);
      await eventually('the first write hangs', () => command.writing === 1);
      for (let i = 0; i < 20; i++) assert.equal((await received(await exec(['echo', 'ok']))).stdout, 'ok\n');
      assert.equal(command.takenBytes, 0);
      assert.ok(socket.bufferedAmount > (total / 2) * MIB, `${socket.bufferedAmount} bytes are unsent`);
      gate.resolve();
      const all = Math.ceil((total * MIB) / MAX_MESSAGE_BYTES) * (MAX_MESSAGE_BYTES - 1);
      await eventually('it all arrives', () => command.takenBytes === all);
    });

    it('asks for no more output than the client takes, and harms no other stream', async () => {
      let asked = 0;
      const { socket, command } = await scripted((process) => {
        process.stdout = (async function* () {
          for (; asked < 96; asked++) yield new Uint8Array(MIB);
        })();
      });
      socket.pause();
      for (let i = 0; i < 20; i++) assert.equal((await received(await exec(['echo', 'ok']))).stdout, 'ok\n');
      const before = asked;
      assert.ok(before < 32, `${before} MiB were asked of the command`);
      let bytes = 0;
      socket.on('message', (data) => {
        bytes += (data as Buffer).length;
      });
      const closed = new Promise<number>((resolve) => socket.on('close', resolve));
      socket.resume();
      command.end(0);
      assert.equal(await closed, 1000);
      assert.ok(bytes >= 96 * MIB);
    });

    it('kills a command whose client takes nothing and then goes', async () => {
      const { socket, command } = await scripted((process) => {
        process.stdout = chunks(1_000_000, MIB);
      });
      socket.pause();
      socket.terminate();
      await eventually('it is killed', () => command.killed.aborted);
      await eventually('the stream is over', () => dialback.streams === 0);
    });
  });

  describe('logs', () => {
    it('sends what there is, and closes', async () => {
      const { text, code } = await receivedBytes(await open({ kind: 'logs', guestID: GUEST, follow: false }));
      assert.match(text, /simulated guest demo\/a/);
      assert.equal(code, 1000);
    });

    it('sends the last lines only, when asked', async () => {
      const whole = await receivedBytes(await open({ kind: 'logs', guestID: GUEST, follow: false }));
      const last = await receivedBytes(await open({ kind: 'logs', guestID: GUEST, follow: false, tailLines: 1 }));
      assert.equal(last.text, `${whole.text.trimEnd().split('\n').at(-1)}\n`);
    });

    it('follows until the guest is removed', async () => {
      const socket = await open({ kind: 'logs', guestID: GUEST, follow: true });
      let text = '';
      socket.on('message', (data) => {
        text += String(data);
      });
      const closed = new Promise<number>((resolve) => socket.on('close', resolve));
      await eventually('the beginning', () => text.includes('booting'));
      await driver.stop(GUEST, { graceMs: 0 }, ending.signal);
      await eventually('what came later', () => text.includes('powered down'));
      await driver.remove(GUEST, ending.signal);
      assert.equal(await closed, 1000);
    });

    it('ends when the client goes', async () => {
      const socket = await open({ kind: 'logs', guestID: GUEST, follow: true });
      await eventually('it is open', () => dialback.streams === 1);
      socket.terminate();
      await eventually('it is over', () => dialback.streams === 0);
    });

    it('closes with 4404 for a guest that is not here', async () => {
      const { code } = await receivedBytes(await open({ kind: 'logs', guestID: 'nobody', follow: false }));
      assert.equal(code, 4404);
    });
  });
});

async function* chunks(count: number, size: number): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < count; i++) yield new Uint8Array(size).fill(97);
}
