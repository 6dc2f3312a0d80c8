import assert from 'node:assert/strict';
import fc from 'fast-check';
import { type CacheEvent, type Narrowed, ResourceCache } from '../../../apiserver/cache/resource-cache.ts';
import { encodeStored, readBack, removedAt, type StoredObject } from '../../../apiserver/cache/stored-object.ts';
import { valueAt } from '../../../resources/meta/object.ts';
import { aWidget } from '../../builders/widget.ts';

const field = {
  id: 'color',
  textOf: ({ object }: StoredObject) => String(valueAt(object, ['spec', 'color']) ?? ''),
};
const COLORS = ['', 'red', 'blue'];

function widget(name: string, color: string, revision: number): StoredObject {
  const object = aWidget({ name, spec: color === '' ? {} : { color } });
  return readBack(`demo/${name}`, object, encodeStored(object), revision);
}

const isOf = (stored: StoredObject | undefined, text: string) => stored !== undefined && field.textOf(stored) === text;
const concerns = ({ previous, current, removed }: CacheEvent, text: string) =>
  isOf(previous, text) || (!removed && isOf(current, text));
const told = ({ current, removed }: CacheEvent) => `${current.key}@${current.revision}${removed ? ' gone' : ''}`;

describe('a resource looked at by a field', () => {
  it('shows and tells of the same as a look at everything, whenever it is asked first', () => {
    const step = fc.record({
      name: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
      color: fc.constantFrom(...COLORS),
      act: fc.constantFrom('put', 'put', 'remove', 'load', 'ask', 'leave'),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const cache = new ResourceCache(0, { events: 100, bytes: 1 << 20 });
        const listening = new Map<string, { heard: string[]; wanted: string[]; stop: () => void }>();
        let revision = 0;
        const publish = (event: CacheEvent) => {
          for (const [text, { wanted }] of listening) if (concerns(event, text)) wanted.push(told(event));
          cache.publish(event);
        };
        for (const { name, color, act } of steps) {
          revision++;
          const key = `demo/${name}`;
          const there = cache.get(key);
          if (act === 'put') publish(cache.put(key, widget(name, color, revision)));
          else if (act === 'load') cache.load(key, widget(name, color, revision));
          else if (act === 'remove' && there !== undefined) publish(cache.remove(key, removedAt(there, revision)));
          else if (act === 'leave') {
            listening.get(color)?.stop();
            listening.delete(color);
          } else if (act === 'ask' && !listening.has(color)) {
            const heard: string[] = [];
            const narrowed: Narrowed = { field, text: color };
            listening.set(color, {
              heard,
              wanted: [],
              stop: cache.listen((event) => heard.push(told(event)), narrowed),
            });
          }
          assert.equal(cache.listeners, listening.size);
        }
        for (const { heard, wanted } of listening.values()) assert.deepEqual(heard, wanted);
        for (const text of COLORS) {
          const all = cache.sorted().filter((stored) => isOf(stored, text));
          assert.deepEqual(cache.having({ field, text }), all);
        }
      }),
      { seed: 29, numRuns: 300 },
    );
  });
});
