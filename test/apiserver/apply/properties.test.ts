import assert from 'node:assert/strict';
import fc from 'fast-check';
import { decodeFields, pathsOf } from '../../../apiserver/apply/field-set.ts';
import { showPath } from '../../../apiserver/apply/path-element.ts';
import { ApiError } from '../../../resources/meta/api-error.ts';
import { ApplyWorld } from './apply-world.ts';

const RUNS = { numRuns: 150 };
const few = fc.integer({ min: 0, max: 2 });
const word = fc.constantFrom('x', 'y', 'z');
const words = fc.uniqueArray(word, { maxLength: 3 });
const item = fc.record({ value: few, tags: words }, { requiredKeys: [] });
const items = fc
  .dictionary(word, item, { maxKeys: 3 })
  .map((byName) => Object.entries(byName).map(([name, rest]) => ({ name, ...rest })));
const free = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, few, word, fc.array(few, { maxLength: 2 }), tie('map')),
  map: fc.dictionary(word, tie('value'), { maxKeys: 2 }),
})).map;

/** Specs over every way of merging. */
const spec = fc.record(
  {
    name: word,
    count: few,
    flag: fc.constantFrom(true, false, null),
    inner: fc.record({ a: few, b: few, deep: fc.record({ c: few }, { requiredKeys: [] }) }, { requiredKeys: [] }),
    whole: fc.record({ a: few, b: few }, { requiredKeys: [] }),
    map: fc.dictionary(word, word, { maxKeys: 2 }),
    maps: fc.dictionary(word, fc.record({ a: few, b: few }, { requiredKeys: [] }), { maxKeys: 2 }),
    set: words,
    plain: fc.array(word, { maxLength: 2 }),
    items,
    free,
  },
  { requiredKeys: [] },
);

/** Plain objects, as JSON makes them. */
const plain = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T> => values.map((value) => JSON.parse(JSON.stringify(value)));
const plainSpec = plain(spec);

const act = fc.record({
  manager: fc.constantFrom('a', 'b', 'c'),
  how: fc.constantFrom('apply', 'force', 'update'),
  spec: plainSpec,
});

/** Runs acts; those that conflict, or would leave something invalid, change nothing. */
function played(acts: readonly { manager: string; how: string; spec: object }[]): ApplyWorld {
  const world = new ApplyWorld();
  for (const { manager, how, spec: wanted } of acts) {
    try {
      if (how === 'update') world.update(manager, wanted);
      else world.apply(manager, wanted, how === 'force');
    } catch (error) {
      if (!(error instanceof ApiError) || !['Conflict', 'Invalid'].includes(error.reason)) throw error;
    }
  }
  return world;
}

/** Forces a spec upon the world; answers whether what came of it is valid. */
function accepts(world: ApplyWorld, wanted: object): boolean {
  try {
    world.apply('a', wanted, true);
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.reason === 'Invalid') return false;
    throw error;
  }
}

/**
 * A list that merges is owned by its items: an empty one is nobody's, and goes with the items it had before it is set again. So does the
 * content of an empty map, which is null in between where no schema refuses that.
 */
const hasNothingEmpty = (value: unknown): boolean => !/\[\]|\{\}/.test(JSON.stringify(value));

const histories = fc.array(act, { minLength: 1, maxLength: 7 });

/** The parts of a spec that no two of these managers share. No map is empty: one that is owned so cannot lose the keys of others. */
const apart = (prefix: string) =>
  plain(
    fc.record({
      map: fc.dictionary(
        word.map((w) => prefix + w),
        word,
        { minKeys: 1, maxKeys: 2 },
      ),
      set: words.map((all) => all.map((w) => prefix + w)),
      items: items.map((all) => all.map((one) => ({ ...one, name: prefix + one.name }))),
    }),
  );

describe('whatever is applied and written', () => {
  it('applying again changes nothing', () => {
    fc.assert(
      fc.property(histories, plainSpec.filter(hasNothingEmpty), (acts, wanted) => {
        const world = played(acts);
        fc.pre(accepts(world, wanted));
        const once = structuredClone(world.live);
        world.apply('a', wanted);
        assert.deepEqual(world.live, once);
      }),
      RUNS,
    );
  });

  it('applying what stands changes no value, and takes nothing from anybody', () => {
    fc.assert(
      fc.property(histories, (acts) => {
        const world = played(acts);
        const before = structuredClone(world.live);
        world.apply('reader', world.spec);
        assert.deepEqual(world.spec, before?.spec);
        const { 'reader Apply': _, ...others } = world.owners;
        const had = Object.keys(others);
        for (const { manager, operation, fieldsV1 } of before?.metadata.managedFields ?? []) {
          assert.ok(had.includes(`${manager} ${operation}`));
          assert.deepEqual(others[`${manager} ${operation}`], fieldsV1['f:spec'] ?? {});
        }
      }),
      RUNS,
    );
  });

  it('what is owned is there', () => {
    fc.assert(
      fc.property(histories, (acts) => {
        const { live } = played(acts);
        for (const { manager, fieldsV1 } of live?.metadata.managedFields ?? []) {
          const owned = decodeFields(fieldsV1);
          assert.ok(owned !== undefined);
          for (const path of pathsOf(owned))
            assert.ok(exists(live, path), `${manager} owns ${showPath(path)} of ${JSON.stringify(live?.spec)}`);
        }
      }),
      RUNS,
    );
  });

  it('appliers of different fields may come in any order', () => {
    fc.assert(
      fc.property(apart('p'), apart('q'), (one, other) => {
        const first = new ApplyWorld().apply('a', one).apply('b', other);
        const second = new ApplyWorld().apply('b', other).apply('a', one);
        assert.deepEqual(sorted(first.spec), sorted(second.spec));
        assert.deepEqual(first.owners, second.owners);
      }),
      RUNS,
    );
  });

  it('an applier that applies nothing leaves what the others own, and only that', () => {
    fc.assert(
      fc.property(apart('p'), apart('q'), (one, other) => {
        const world = new ApplyWorld().apply('a', one).apply('b', other).apply('a', {});
        const { 'a Apply': _, ...owners } = world.owners;
        assert.deepEqual(owners, new ApplyWorld().apply('b', other).owners);
        const specs = [world, new ApplyWorld().apply('b', other)].map(({ spec: left }) => withoutEmpty(left));
        assert.deepEqual(specs[0], specs[1]);
      }),
      RUNS,
    );
  });
});

/** Whether something stands at a path. */
function exists(value: unknown, [element, ...rest]: readonly string[]): boolean {
  if (element === undefined) return value !== undefined;
  const wanted = element.slice(2);
  if (element.startsWith('f:')) {
    const field = Object.entries(value ?? {}).find(([name]) => name === wanted);
    return field !== undefined && exists(field[1], rest);
  }
  if (!Array.isArray(value)) return false;
  if (element.startsWith('v:')) return value.some((one) => JSON.stringify(one) === wanted);
  return value.some((one: { name: string }) => JSON.stringify({ name: one.name }) === wanted && exists(one, rest));
}

/** Without the fields that are empty: a list that lost its items, or an object, may go or stay. */
function withoutEmpty(value: unknown): unknown {
  return Object.fromEntries(Object.entries(value ?? {}).filter(([, field]) => Object.keys(field ?? {}).length > 0));
}

/** With lists in one order: the order is that of who came first. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, sorted(field)]));
}
