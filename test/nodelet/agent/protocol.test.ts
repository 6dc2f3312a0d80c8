import assert from 'node:assert/strict';
import fc from 'fast-check';
import { CreditedStream } from '../../../nodelet/agent/credited-stream.ts';
import { FrameDecoder } from '../../../nodelet/agent/frame-decoder.ts';
import {
  AgentFrame,
  decodeCredit,
  decodeError,
  decodeExit,
  decodeHello,
  decodeInfo,
  encodeCredit,
  encodeExec,
  encodeFrame,
  MARKER,
  ProtocolError,
  STREAM_WINDOW,
  stdinPayloads,
} from '../../../nodelet/agent/protocol.ts';

const NONCE = Buffer.alloc(16, 0xab);
const helloPayload = (version = 1) =>
  Buffer.concat([
    MARKER,
    NONCE,
    Buffer.of(0, version),
    Buffer.from('01234567-89ab-cdef-0123-456789abcdef'),
    Buffer.from('1.2.3'),
  ]);
const hello = encodeFrame(AgentFrame.HELLO, 0, helloPayload());

const frames = fc.array(
  fc.record({
    type: fc.integer({ min: 0, max: 255 }),
    channel: fc.integer({ min: 0, max: 0xffff_ffff }),
    payload: fc.uint8Array({ maxLength: 300 }),
  }),
  { maxLength: 20 },
);

/** Cuts bytes at the places given. */
function pieces(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return at.slice(1).map((end, i) => bytes.subarray(at[i], end));
}

const copied = (frame: { type: number; channel: number; payload: Uint8Array }) => ({
  ...frame,
  payload: [...frame.payload],
});

describe('the agent protocol', () => {
  it('gives back any frames, however the bytes are cut, and drops what came before the answer to HELLO', () => {
    fc.assert(
      fc.property(
        frames,
        fc.uint8Array({ maxLength: 400 }),
        fc.array(fc.nat(), { maxLength: 30 }),
        (sent, stale, cuts) => {
          const bytes = Buffer.concat([stale, hello, ...sent.map((f) => encodeFrame(f.type, f.channel, f.payload))]);
          const decoder = new FrameDecoder(NONCE);
          const got = pieces(bytes, cuts).flatMap((piece) => [...decoder.push(piece)].map(copied));
          assert.deepEqual(got, [
            { type: AgentFrame.HELLO, channel: 0, payload: [...helloPayload()] },
            ...sent.map(copied),
          ]);
        },
      ),
    );
  });

  it('finds the answer behind a lot of stale bytes, stale answers to other hosts included', () => {
    const decoder = new FrameDecoder(NONCE);
    const other = Buffer.concat([MARKER, Buffer.alloc(16, 1), Buffer.alloc(60)]);
    for (let i = 0; i < 50; i++)
      assert.deepEqual([...decoder.push(Buffer.concat([Buffer.alloc(60_000), encodeFrame(129, 0, other)]))], []);
    assert.equal([...decoder.push(hello)].length, 1);
  });

  it('throws nothing but ProtocolError at garbage', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 20 }), (chunks) => {
        const decoder = new FrameDecoder(NONCE);
        try {
          for (const chunk of [hello, ...chunks])
            for (const frame of decoder.push(chunk)) assert.ok(frame.payload.length <= 65_536);
        } catch (error) {
          assert.ok(error instanceof ProtocolError, String(error));
        }
      }),
    );
  });

  it('refuses a length out of bounds at once, before the body has come', () => {
    for (const length of [0, 4, 65_542, 0xffff_ffff]) {
      const decoder = new FrameDecoder(NONCE);
      assert.equal([...decoder.push(hello)].length, 1);
      const header = Buffer.alloc(9);
      header.writeUInt32BE(length, 0);
      assert.throws(() => [...decoder.push(header)], ProtocolError);
    }
  });

  it('reads every payload or throws ProtocolError', () => {
    const readers = [decodeHello, decodeExit, decodeCredit, decodeError, decodeInfo];
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 120 }),
        fc.constantFrom(...readers),
        (payload, read: (bytes: Uint8Array) => unknown) => {
          try {
            read(payload);
          } catch (error) {
            assert.ok(error instanceof ProtocolError, String(error));
          }
        },
      ),
    );
  });

  it('reads HELLO, and shows nothing of the guest’s that is not text', () => {
    const { agentVersion, bootId, protocolVersion } = decodeHello(helloPayload(7));
    assert.deepEqual([agentVersion, bootId, protocolVersion], ['1.2.3', '01234567-89ab-cdef-0123-456789abcdef', 7]);
    assert.equal(decodeError(Buffer.from('\x03bad\x1b[2J\n', 'latin1')).message, 'bad?[2J?');
  });

  it('reads the known form of INFO lines only', () => {
    assert.deepEqual(decodeInfo(Buffer.from('hostname=a\nBAD=1\naddress=10.0.2.15\naddress=\x1b[1m\nuptime_ms=5')), [
      ['hostname', 'a'],
      ['address', '10.0.2.15'],
      ['uptime_ms', '5'],
    ]);
  });

  it('cuts stdin so that it is whole again when joined, no piece holds the marker, and none is over the limit', () => {
    const chunk = fc.oneof(fc.uint8Array({ maxLength: 40 }), fc.constant(MARKER), fc.constant(MARKER.subarray(0, 9)));
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 12 }), fc.integer({ min: 1, max: 64 }), (chunks, limit) => {
        const bytes = Buffer.concat(chunks);
        const cut = [...stdinPayloads(bytes, limit)];
        assert.ok(Buffer.concat(cut).equals(bytes));
        for (const piece of cut)
          assert.ok(piece.length <= limit && piece.length > 0 && Buffer.from(piece).indexOf(MARKER) < 0);
      }),
    );
  });

  it('bounds what a command may hold', () => {
    const base = { env: [], stdin: false };
    assert.throws(() => encodeExec({ ...base, argv: [] }), /empty/);
    assert.throws(() => encodeExec({ ...base, argv: Array(1025).fill('x') }), /1024 words/);
    assert.throws(() => encodeExec({ ...base, argv: ['x'.repeat(65_536)] }), /the most is 65536/);
    assert.throws(() => encodeFrame(4, 1, new Uint8Array(65_537)), RangeError);
  });
});

describe('a stream of output', () => {
  it('grants back what its reader has taken, and no more', async () => {
    const granted: number[] = [];
    const stream = new CreditedStream((bytes) => granted.push(bytes));
    for (let i = 0; i < 8; i++) stream.push(new Uint8Array(STREAM_WINDOW / 8));
    assert.deepEqual(granted, []);
    const reader = stream[Symbol.asyncIterator]();
    await reader.next();
    assert.deepEqual(granted, []);
    await reader.next();
    assert.deepEqual(granted, [STREAM_WINDOW / 4]);
  });

  it('refuses more than one window of unread output', () => {
    const stream = new CreditedStream(() => {});
    stream.push(new Uint8Array(STREAM_WINDOW));
    assert.throws(() => stream.push(new Uint8Array(1)), ProtocolError);
  });

  it('hands over what is queued before it tells of the break', async () => {
    const stream = new CreditedStream(() => {});
    stream.push(Buffer.from('last words'));
    stream.end(new Error('gone'));
    const reader = stream[Symbol.asyncIterator]();
    assert.deepEqual(Buffer.from((await reader.next()).value ?? []).toString(), 'last words');
    await assert.rejects(reader.next(), /gone/);
  });

  it('is not changed by what happens to the bytes after they were pushed', async () => {
    const stream = new CreditedStream(() => {});
    const bytes = Buffer.from('abc');
    stream.push(bytes);
    bytes.fill(0);
    assert.deepEqual(Buffer.from((await stream[Symbol.asyncIterator]().next()).value ?? []).toString(), 'abc');
  });

  it('joins single bytes, so that a window of them is few objects', async () => {
    const stream = new CreditedStream(() => {});
    for (let i = 0; i < 10_000; i++) stream.push(Buffer.of(i & 0xff));
    stream.end();
    let count = 0;
    let bytes = 0;
    for await (const piece of stream) {
      count++;
      bytes += piece.length;
    }
    assert.deepEqual([bytes, count], [10_000, 3]);
  });

  it('ends the same for its credit check', () => {
    assert.deepEqual(decodeCredit(encodeCredit(2, 77)), { stream: 2, bytes: 77 });
  });
});
