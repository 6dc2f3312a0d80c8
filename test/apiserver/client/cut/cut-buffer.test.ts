import assert from 'node:assert/strict';
import fc from 'fast-check';
import { CutBuffer, type CutEvent } from '../../../../apiserver/client/cut/cut-buffer.ts';

const event = (resource: string, key: string): CutEvent => ({ resource, key, object: undefined });
const textOf = (buffer: CutBuffer) =>
  buffer
    .take()
    .map(({ revision, events }) => `${revision}: ${events.map(({ resource, key }) => resource + key).join(' ')}`);

describe('watches put together to one order', () => {
  it('give a revision once every watch has passed it, and not before', () => {
    const buffer = new CutBuffer(['a', 'b'], 10);
    buffer.add(event('a', '1'), 11);
    buffer.passed('b', 13);
    assert.deepEqual(textOf(buffer), [], 'there may be more of revision 11');
    buffer.add(event('a', '2'), 11);
    buffer.add(event('a', '1'), 12);
    assert.deepEqual(textOf(buffer), ['11: a1 a2']);
    buffer.passed('a', 12);
    assert.deepEqual(textOf(buffer), ['12: a1']);
    assert.equal(buffer.taken, 12);
    buffer.passed('a', 20);
    assert.deepEqual(textOf(buffer), []);
    assert.equal(buffer.taken, 13, 'nothing happened in it, and it is passed');
    assert.deepEqual(buffer.last, ['b']);
  });

  it('let a watch begin again where nothing of it is lost or told twice', () => {
    const buffer = new CutBuffer(['a', 'b'], 10);
    buffer.passed('b', 20);
    buffer.add(event('a', '1'), 11);
    buffer.add(event('a', '1'), 12);
    buffer.rewind('a');
    assert.deepEqual(textOf(buffer), ['11: a1']);
    assert.equal(buffer.comeTo('a'), 11);
    buffer.add(event('a', '1'), 12);
    buffer.add(event('a', '2'), 12);
    buffer.passed('a', 12);
    assert.deepEqual(textOf(buffer), ['12: a1 a2']);
    assert.equal(buffer.size, 0);
  });

  it('refuse what a watch tells of a revision that it has passed', () => {
    const buffer = new CutBuffer(['a'], 10);
    assert.throws(() => buffer.add(event('a', '1'), 10), /told of revision 10/);
  });

  it('are the history, however they come and break off', () => {
    const resources = ['a', 'b', 'c'];
    const history = fc.array(fc.array(fc.constantFrom(...resources), { minLength: 1, maxLength: 3 }), {
      maxLength: 30,
    });
    const moves = fc.infiniteStream(
      fc.tuple(fc.constantFrom(...resources), fc.constantFrom('event', 'event', 'event', 'bookmark', 'break')),
    );
    fc.assert(
      fc.property(history, moves, (revisions, wishes) => {
        const all = revisions.map((events, i) => ({
          revision: i + 1,
          events: events.map((resource, n) => event(resource, String(n))),
        }));
        const buffer = new CutBuffer(resources, 0);
        // Where each watch is: everything up to a revision, and so many events of the next.
        const at = new Map(resources.map((resource) => [resource, { revision: 0, told: 0 }]));
        const taken: typeof all = [];
        const more = (resource: string) => {
          const place = at.get(resource) ?? { revision: 0, told: 0 };
          for (; place.revision < all.length; place.revision++, place.told = 0) {
            const next = all[place.revision]?.events.filter((one) => one.resource === resource)[place.told];
            if (next === undefined) continue;
            place.told++;
            buffer.add(next, place.revision + 1);
            return;
          }
        };
        for (const [resource, wish] of wishes) {
          const place = at.get(resource) ?? { revision: 0, told: 0 };
          if (wish === 'event') more(resource);
          if (wish === 'bookmark' && place.told === 0) buffer.passed(resource, place.revision);
          if (wish === 'break') {
            buffer.rewind(resource);
            at.set(resource, { revision: buffer.comeTo(resource), told: 0 });
          }
          for (const whole of buffer.take()) taken.push({ revision: whole.revision, events: [...whole.events] });
          if (buffer.taken === all.length) break;
        }
        const sorted = (list: typeof all) =>
          list.map(({ revision, events }) => [revision, events.map(({ resource, key }) => resource + key).sort()]);
        assert.deepEqual(sorted(taken), sorted(all));
        assert.equal(buffer.size, 0);
      }),
    );
  });
});
