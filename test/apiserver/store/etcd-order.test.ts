import assert from 'node:assert/strict';
import { CallSlots } from '../../../apiserver/store/etcd/call-slots.ts';
import { KeyOrder } from '../../../apiserver/store/etcd/key-order.ts';
import { txn } from './store-maker.ts';

describe('the order of transactions', () => {
  it('lets nothing overtake what it shares a written key with, and all else go', async () => {
    const order = new KeyOrder();
    const log: string[] = [];
    const enter = (name: string, words: Parameters<typeof txn>[0]) => {
      const place = order.enter(txn(words));
      void (place.turn ?? Promise.resolve()).then(() => log.push(name));
      return place;
    };
    const writer = enter('writer', { put: { a: '1' } });
    const reader = enter('reader', { if: { a: 1 }, put: { b: '1' } });
    const sister = enter('sister', { if: { a: 1 }, put: { c: '1' } });
    const second = enter('second', { delete: ['a'] });
    const stranger = enter('stranger', { if: { d: 0 }, put: { e: '1' } });
    await turns();
    assert.deepEqual(log.splice(0), ['writer', 'stranger']);
    writer.leave();
    await turns();
    assert.deepEqual(log.splice(0), ['reader', 'sister']);
    reader.leave();
    await turns();
    assert.deepEqual(log.splice(0), []);
    sister.leave();
    await turns();
    assert.deepEqual(log.splice(0), ['second']);
    second.leave();
    stranger.leave();
    assert.equal(order.size, 0);
  });
});

const turns = () => new Promise((resolve) => setImmediate(resolve));

describe('the slots of calls', () => {
  it('let so many in, then one for each that leaves, in order and without those who gave up', async () => {
    const slots = new CallSlots(2);
    const log: string[] = [];
    const ended = new AbortController();
    const enter = (name: string, signal = new AbortController().signal) =>
      slots.enter(signal).then(
        () => log.push(name),
        (reason: unknown) => log.push(`${name}: ${reason}`),
      );
    for (const name of ['a', 'b', 'c']) void enter(name);
    void enter('d', ended.signal);
    void enter('e');
    void enter('f', AbortSignal.abort('too late'));
    await turns();
    assert.deepEqual(log.splice(0), ['a', 'b', 'f: too late']);
    ended.abort('enough');
    await turns();
    assert.deepEqual(log.splice(0), ['d: enough']);
    slots.leave();
    await turns();
    assert.deepEqual(log.splice(0), ['c']);
    for (let i = 0; i < 3; i++) slots.leave();
    await turns();
    assert.deepEqual(log.splice(0), ['e']);
    void enter('g');
    void enter('h');
    void enter('i');
    await turns();
    assert.deepEqual(log, ['g', 'h']);
  });
});
