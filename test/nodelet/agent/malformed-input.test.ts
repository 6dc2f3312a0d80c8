import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import fc from 'fast-check';
import { FrameDecoder } from '../../../nodelet/agent/frame-decoder.ts';
import {
  AgentFrame,
  decodeError,
  decodeExit,
  encodeCredit,
  encodeExec,
  encodeFrame,
  encodeMeeting,
  type Frame,
  HostFrame,
  MARKER,
} from '../../../nodelet/agent/protocol.ts';
import { AgentProcess, compiledAgent } from './agent-process.ts';

/** A host that says what it likes. */
class RawHost implements Disposable {
  readonly #socket: Socket;
  #decoder = new FrameDecoder(Buffer.alloc(16));
  #frames: Frame[] = [];
  #wake: () => void = () => {};

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      for (const frame of this.#decoder.push(chunk))
        this.#frames.push({ ...frame, payload: Uint8Array.from(frame.payload) });
      this.#wake();
    });
  }

  send(...parts: readonly Uint8Array[]): void {
    this.#socket.write(Buffer.concat(parts));
  }

  /** Opens a session, whatever was said before; answers its nonce. */
  async meet(before: Uint8Array = Buffer.alloc(0)): Promise<Uint8Array> {
    const nonce = randomBytes(16);
    this.#decoder = new FrameDecoder(nonce);
    this.#frames = [];
    this.send(before, encodeMeeting(nonce));
    assert.equal((await this.next()).type, AgentFrame.HELLO);
    return nonce;
  }

  async next(): Promise<Frame> {
    for (;;) {
      const frame = this.#frames.shift();
      if (frame !== undefined) return frame;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
    }
  }

  async nextOf(type: number): Promise<Frame> {
    for (;;) {
      const frame = await this.next();
      if (frame.type === type) return frame;
    }
  }

  /** What comes next, as it is. */
  async firstBytes(): Promise<Buffer> {
    const [chunk] = await once(this.#socket, 'data');
    assert.ok(Buffer.isBuffer(chunk));
    return chunk;
  }

  async close(): Promise<void> {
    this.#socket.destroy();
    await once(this.#socket, 'close');
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}

const exec = (channel: number, ...argv: string[]) =>
  encodeFrame(HostFrame.EXEC, channel, encodeExec({ argv, env: [], stdin: true }));

describe('the guest agent given malformed input', function () {
  this.timeout(30_000);
  let agent: AgentProcess;

  before(async function () {
    this.timeout(60_000);
    const program = await compiledAgent();
    if (program === undefined) this.skip();
    agent = await AgentProcess.start(program);
  });
  after(async () => agent?.[Symbol.asyncDispose]());
  afterEach(() => assert.ok(agent.running, 'the agent lives on'));

  it('meets a new host in the middle of a frame, on the same stream, and ends the old session’s commands', async () => {
    using host = new RawHost(await agent.raw());
    await host.meet();
    host.send(exec(1, 'sleep', '1000'), encodeFrame(HostFrame.STDIN, 1, Buffer.alloc(60_000)).subarray(0, 20_000));
    await host.nextOf(AgentFrame.STARTED);
    await host.meet();
    host.send(exec(1, 'echo', 'again'));
    assert.equal(Buffer.from((await host.nextOf(AgentFrame.STDOUT)).payload).toString(), 'again\n');
    assert.deepEqual(decodeExit((await host.nextOf(AgentFrame.EXIT)).payload), { code: 0 });
  });

  it('forgets half a frame when its host goes', async () => {
    using first = new RawHost(await agent.raw());
    await first.meet();
    first.send(encodeFrame(HostFrame.PING, 7, Buffer.alloc(40)).subarray(0, 30));
    await first.close();
    using second = new RawHost(await agent.raw());
    await second.meet();
    second.send(encodeFrame(HostFrame.PING, 8, Buffer.from('p')));
    assert.deepEqual(
      { ...(await second.next()), payload: undefined },
      { type: AgentFrame.PONG, channel: 8, payload: undefined },
    );
  });

  it('answers the same knock again without ending the session', async () => {
    using host = new RawHost(await agent.raw());
    const nonce = Buffer.alloc(16, 9);
    host.send(encodeMeeting(nonce));
    await new Promise<void>((resolve) => resolve());
    await host.meet();
    host.send(exec(1, 'cat'));
    await host.nextOf(AgentFrame.STARTED);
  });

  it('keeps the session when a read ends anywhere within the marker of another knock', async () => {
    using host = new RawHost(await agent.raw());
    const knock = encodeMeeting(await host.meet());
    for (let cut = 1; cut < MARKER.length; cut++) {
      // The answer to the ping proves that the part after it was read.
      host.send(encodeFrame(HostFrame.PING, cut), knock.subarray(0, cut));
      assert.equal((await host.nextOf(AgentFrame.PONG)).channel, cut);
      host.send(knock.subarray(cut), encodeFrame(HostFrame.PING, 1000 + cut));
      assert.equal((await host.next()).type, AgentFrame.HELLO);
      assert.equal((await host.next()).channel, 1000 + cut);
    }
  });

  it('ignores frames outside a session', async () => {
    using host = new RawHost(await agent.raw());
    await host.meet(Buffer.concat([exec(5, 'echo', 'no'), encodeFrame(HostFrame.PING, 6)]));
    host.send(encodeFrame(HostFrame.PING, 7));
    assert.equal((await host.next()).channel, 7);
  });

  it('tells a host that believes in a session that there is none', async () => {
    using host = new RawHost(await agent.raw());
    host.send(encodeFrame(HostFrame.PING, 6));
    const bytes = await host.firstBytes();
    assert.deepEqual([bytes[4], bytes.readUInt32BE(5)], [AgentFrame.ERROR, 0]);
    assert.match(bytes.toString('latin1', 10), /no session/);
    await host.meet();
  });

  for (const length of [0, 4, 65_542, 0x7fff_ffff, 0xffff_ffff]) {
    it(`ends the session at a frame of length ${length} and meets the next host`, async () => {
      using host = new RawHost(await agent.raw());
      await host.meet();
      const header = Buffer.alloc(9, 1);
      header.writeUInt32BE(length, 0);
      host.send(header);
      const error = await host.nextOf(AgentFrame.ERROR);
      assert.equal(error.channel, 0);
      assert.match(decodeError(error.payload).message, /broken/);
      await host.meet();
    });
  }

  it('refuses more stdin than it granted, on that channel only', async () => {
    using host = new RawHost(await agent.raw());
    await host.meet();
    host.send(exec(1, 'sleep', '1000'), exec(2, 'cat'));
    for (let i = 0; i < 8; i++) host.send(encodeFrame(HostFrame.STDIN, 1, Buffer.alloc(60_000)));
    const error = await host.nextOf(AgentFrame.ERROR);
    assert.equal(error.channel, 1);
    assert.match(decodeError(error.payload).message, /more stdin/);
    host.send(encodeFrame(HostFrame.STDIN, 2, Buffer.from('still')), encodeFrame(HostFrame.STDIN_EOF, 2));
    assert.equal(Buffer.from((await host.nextOf(AgentFrame.STDOUT)).payload).toString(), 'still');
  });

  it('sends no more output than it was granted', async () => {
    using host = new RawHost(await agent.raw());
    await host.meet();
    host.send(exec(1, 'sh', '-c', 'head -c 300000 /dev/zero; echo written >&2'));
    let bytes = 0;
    const readUntil = async (type: number) => {
      for (;;) {
        const frame = await host.next();
        if (frame.type === AgentFrame.STDOUT) bytes += frame.payload.length;
        if (frame.type === type) return frame;
      }
    };
    // All is in the agent's pipe once the command says so; an answer that comes after proves that it was held back.
    await readUntil(AgentFrame.STDERR);
    for (let channel = 2; channel < 12; channel++) {
      host.send(encodeFrame(HostFrame.PING, channel));
      await readUntil(AgentFrame.PONG);
    }
    assert.equal(bytes, 262_144);
    host.send(encodeFrame(HostFrame.CREDIT, 1, encodeCredit(1, 100_000)));
    assert.deepEqual(decodeExit((await readUntil(AgentFrame.EXIT)).payload), { code: 0 });
    assert.equal(bytes, 300_000);
  });

  it('refuses credit beyond the window', async () => {
    using host = new RawHost(await agent.raw());
    await host.meet();
    host.send(exec(1, 'cat'), encodeFrame(HostFrame.CREDIT, 1, encodeCredit(1, 0xffff_ffff)));
    assert.match(decodeError((await host.nextOf(AgentFrame.ERROR)).payload).message, /credit/);
  });

  const words = (...bytes: number[]) => Buffer.from(bytes);
  const malformed: Record<string, Uint8Array> = {
    'nothing at all': words(),
    'no words': words(0, 0, 0, 0, 0, 0, 0, 0, 0),
    'an empty first word': words(0, 0, 0, 0, 0, 0, 1, 0, 0, 0),
    'fewer words than it says': words(0, 0, 0, 0, 0, 0, 9, 0, 0, 0x61, 0),
    'more words than it says': words(0, 0, 0, 0, 0, 0, 1, 0, 0, 0x61, 0, 0x62, 0),
    'a last word without end': words(0, 0, 0, 0, 0, 0, 1, 0, 0, 0x61),
    'a missing folder': words(4, 0, 0, 0, 0, 0, 1, 0, 0, 0x61, 0),
    'too many words': words(0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x61, 0),
  };
  for (const [name, payload] of Object.entries(malformed)) {
    it(`refuses a command with ${name}`, async () => {
      using host = new RawHost(await agent.raw());
      await host.meet();
      host.send(encodeFrame(HostFrame.EXEC, 4, payload));
      const error = await host.next();
      assert.deepEqual([error.type, error.channel, decodeError(error.payload).reason], [AgentFrame.ERROR, 4, 1]);
    });
  }

  it('survives any frames and any bytes', async () => {
    const payload = fc.oneof(fc.uint8Array({ maxLength: 40 }), fc.uint8Array({ minLength: 60_000, maxLength: 65_536 }));
    const frame = fc
      .record({ type: fc.integer({ min: 0, max: 20 }), channel: fc.integer({ min: 0, max: 3 }), payload })
      .map((f) => encodeFrame(f.type, f.channel, f.payload));
    const start = fc.integer({ min: 0, max: 3 }).map((channel) => exec(channel, 'cat'));
    const cut = fc.tuple(frame, fc.nat(60)).map(([bytes, at]) => bytes.subarray(0, at));
    const input = fc.array(
      fc.oneof({ weight: 6, arbitrary: frame }, { weight: 2, arbitrary: start }, { weight: 1, arbitrary: cut }),
      { maxLength: 12 },
    );
    await fc.assert(
      fc.asyncProperty(input, async (parts) => {
        using host = new RawHost(await agent.raw());
        await host.meet();
        host.send(...parts);
        await host.meet();
        host.send(exec(1, 'echo', 'ok'));
        assert.equal(Buffer.from((await host.nextOf(AgentFrame.STDOUT)).payload).toString(), 'ok\n');
        await host.close();
        assert.ok(agent.running);
      }),
      { numRuns: 100, seed: 20_261 },
    );
  });
});
