import assert from 'node:assert/strict';
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import fc from 'fast-check';
import { FieldReader } from '../../../apiserver/store/etcd/field-reader.ts';
import { FrameWriter } from '../../../apiserver/store/etcd/frame-writer.ts';
import { decodeWatch } from '../../../apiserver/store/etcd/watch-messages.ts';

const GRPC_PREFIX_BYTES = 5;

describe('messages to and from etcd', () => {
  it('writes numbers, bytes and messages in messages as another reader reads them', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.uint8Array({ maxLength: 300, size: 'max' }), (number, bytes) => {
        const writer = new FrameWriter(bytes.length + 64);
        const outer = writer.begin(1);
        const inner = writer.begin(2000);
        writer.number(3, number);
        writer.end(inner);
        writer.bytes(4, bytes);
        writer.end(outer);
        const frame = writer.frame();
        assert.equal(frame[0], 0);
        assert.equal(frame.readUInt32BE(1), frame.length - GRPC_PREFIX_BYTES);
        const reader = new BinaryReader(frame.subarray(GRPC_PREFIX_BYTES));
        assert.deepEqual(reader.tag(), [1, WireType.LengthDelimited]);
        assert.equal(reader.uint32(), reader.len - reader.pos);
        assert.deepEqual(reader.tag(), [2000, WireType.LengthDelimited]);
        reader.uint32();
        assert.deepEqual(reader.tag(), [3, WireType.Varint]);
        assert.equal(Number(reader.int64()), number);
        assert.deepEqual(reader.tag(), [4, WireType.LengthDelimited]);
        assert.deepEqual(Uint8Array.from(reader.bytes()), bytes);
        assert.equal(reader.pos, reader.len);
      }),
    );
  });

  it('refuses to write more than was said', () => {
    const writer = new FrameWriter(4);
    assert.throws(() => {
      writer.bytes(1, new Uint8Array(8));
      writer.frame();
    }, RangeError);
  });

  it('reads a watch past fields it does not know, and negative ones', () => {
    const pair = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(Buffer.from('r/data/a'));
    pair
      .tag(2, WireType.Varint)
      .int64(7)
      .tag(3, WireType.Varint)
      .int64(2 ** 40);
    pair.tag(5, WireType.LengthDelimited).bytes(Buffer.from('value'));
    const event = new BinaryWriter().tag(2, WireType.LengthDelimited).bytes(pair.finish());
    const answer = new BinaryWriter().tag(2, WireType.Varint).int64(-1).tag(90, WireType.Bit32).fixed32(1);
    answer.tag(91, WireType.Bit64).fixed64(1).tag(6, WireType.LengthDelimited).string('why');
    answer.tag(11, WireType.LengthDelimited).bytes(event.finish()).tag(7, WireType.Varint).bool(true);
    const { events, ...rest } = decodeWatch(Buffer.from(answer.finish()));
    assert.deepEqual(rest, { canceled: false, compactRevision: 0, cancelReason: 'why', fragment: true });
    const [only] = events;
    assert.equal(events.length, 1);
    assert.equal(only?.deleted, false);
    assert.equal(String(only?.key), 'r/data/a');
    assert.equal(String(only?.value), 'value');
    assert.equal(only?.createRevision, 7);
    assert.equal(only?.modRevision, 2 ** 40);
  });

  it('says of bytes that end too soon that they are no message', () => {
    const whole = Buffer.from(new BinaryWriter().tag(1, WireType.LengthDelimited).string('long enough').finish());
    for (let length = 1; length < whole.length; length++) {
      const reader = new FieldReader(whole.subarray(0, length));
      assert.throws(() => {
        reader.next();
        reader.bytes();
      }, RangeError);
    }
  });
});
