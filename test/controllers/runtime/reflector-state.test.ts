import assert from 'node:assert/strict';
import {
  type Happening,
  type ReflectorState,
  transition,
  waitMs,
} from '../../../controllers/runtime/reflector-state.ts';

const listing: ReflectorState = { at: 'listing', paged: true, failures: 0 };
const secondPage: ReflectorState = { ...listing, continueToken: 't' };
const unpaged: ReflectorState = { at: 'listing', paged: false, failures: 1 };
const watching: ReflectorState = { at: 'watching', resourceVersion: '5', failures: 0 };
const shaky: ReflectorState = { at: 'watching', resourceVersion: '5', failures: 3 };
const waiting: ReflectorState = { at: 'waiting', next: watching };
const stopped: ReflectorState = { at: 'stopped' };

const page: Happening = { what: 'page', continueToken: 't' };
const listed: Happening = { what: 'listed', resourceVersion: '7' };
const moved: Happening = { what: 'moved', resourceVersion: '8' };
const [ended, expired, failed, waited, stop] = (['ended', 'expired', 'failed', 'waited', 'stopped'] as const).map(
  (what): Happening => ({ what }),
) as [Happening, Happening, Happening, Happening, Happening];

const TABLE: readonly (readonly [ReflectorState, Happening, ReflectorState | 'impossible'])[] = [
  [listing, page, secondPage],
  [secondPage, listed, { at: 'watching', resourceVersion: '7', failures: 0 }],
  [secondPage, failed, { at: 'waiting', next: { at: 'listing', paged: true, failures: 1 } }],
  [secondPage, expired, unpaged],
  [unpaged, expired, { at: 'waiting', next: { at: 'listing', paged: true, failures: 2 } }],
  [unpaged, listed, { at: 'watching', resourceVersion: '7', failures: 1 }],
  [listing, moved, 'impossible'],
  [listing, ended, 'impossible'],
  [listing, waited, 'impossible'],
  [watching, moved, { at: 'watching', resourceVersion: '8', failures: 0 }],
  [shaky, moved, { at: 'watching', resourceVersion: '8', failures: 0 }],
  [shaky, ended, watching],
  [watching, expired, { at: 'listing', paged: true, failures: 1 }],
  [shaky, expired, { at: 'waiting', next: { at: 'listing', paged: true, failures: 4 } }],
  [watching, failed, { at: 'waiting', next: { ...watching, failures: 1 } }],
  [watching, page, 'impossible'],
  [watching, listed, 'impossible'],
  [watching, waited, 'impossible'],
  [waiting, waited, watching],
  ...[page, listed, moved, ended, expired, failed].map((happening) => [waiting, happening, 'impossible'] as const),
  ...[page, listed, moved, ended, expired, failed, waited, stop].map(
    (happening) => [stopped, happening, stopped] as const,
  ),
  ...[listing, watching, waiting].map((state) => [state, stop, stopped] as const),
];

describe('the states of a reflector', () => {
  for (const [state, happening, next] of TABLE) {
    it(`${JSON.stringify(state)} on ${happening.what} becomes ${JSON.stringify(next)}`, () => {
      if (next === 'impossible') assert.throws(() => transition(state, happening), /cannot have/);
      else assert.deepEqual(transition(state, happening), next);
    });
  }

  it('waits longer and longer, never over half a minute, and never less than half of it', () => {
    assert.deepEqual(
      [1, 2, 3, 20].map((failures) => waitMs(failures, 0)),
      [200, 400, 800, 30_000],
    );
    assert.equal(waitMs(20, 0.999999) >= 15_000, true);
  });
});
