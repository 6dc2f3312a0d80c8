import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { decodeRange } from '../../../apiserver/store/etcd/range-messages.ts';
import { SharedQuestion } from '../../../apiserver/store/etcd/shared-question.ts';
import { systemClock as clock } from '../../../resources/ambient/system-clock.ts';

/** A question whose answers are given by hand. */
function asked() {
  const open: PromiseWithResolvers<number>[] = [];
  const question = new SharedQuestion<number>(clock, () => {
    const answer = Promise.withResolvers<number>();
    open.push(answer);
    return answer.promise;
  });
  return { open, question };
}

describe('a question that many ask', () => {
  it('is asked once for all who ask in one turn of the loop, and again for who asks when it is under way', async () => {
    const { open, question } = asked();
    const first = [question.answer(), question.answer()];
    assert.equal(open.length, 0);
    await setImmediate();
    assert.equal(open.length, 1);
    const second = [question.answer(), question.answer()];
    open[0]?.resolve(1);
    assert.deepEqual(await Promise.all(first), [1, 1]);
    assert.equal(open.length, 2);
    open[1]?.resolve(2);
    assert.deepEqual(await Promise.all(second), [2, 2]);
  });

  it('does not wait for one that takes its time', async () => {
    const { open, question } = asked();
    const first = question.answer();
    await setImmediate();
    const second = question.answer();
    const deadline = clock.monotonic() + 10_000;
    while (open.length < 2 && clock.monotonic() < deadline) await clock.sleep(1);
    open[1]?.resolve(2);
    assert.equal(await second, 2);
    open[0]?.resolve(1);
    assert.equal(await first, 1);
  });

  it('tells all who share it how it failed', async () => {
    const { open, question } = asked();
    const answers = Promise.allSettled([question.answer(), question.answer()]);
    await setImmediate();
    open[0]?.reject(new Error('no'));
    assert.deepEqual(
      (await answers).map(({ status }) => status),
      ['rejected', 'rejected'],
    );
  });

  it('reads the revision that an answer is true at', () => {
    const header = new BinaryWriter().tag(1, WireType.Varint).uint64(9n).tag(3, WireType.Varint).int64(77).finish();
    const answer = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(header).tag(4, WireType.Varint).int64(1);
    assert.equal(decodeRange(Buffer.from(answer.finish())).revision, 77);
  });
});
