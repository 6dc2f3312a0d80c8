import assert from 'node:assert/strict';
import { ApiError } from '../../../resources/meta/api-error.ts';
import { ApplyWorld, THING } from './apply-world.ts';

type Act = (world: ApplyWorld) => unknown;

interface Case {
  readonly name: string;
  readonly acts: readonly Act[];
  readonly spec?: unknown;
  readonly owners?: Readonly<Record<string, unknown>>;
  /** What the last act is refused with. */
  readonly refused?: string | RegExp;
}

const apply =
  (manager: string, spec: unknown): Act =>
  (world) =>
    world.apply(manager, spec);
const force =
  (manager: string, spec: unknown): Act =>
  (world) =>
    world.apply(manager, spec, true);
const update =
  (manager: string, spec: unknown): Act =>
  (world) =>
    world.update(manager, spec);

const it_ = (item: string) => `k:{"name":"${item}"}`;
const conflict = (owner: string, ...paths: string[]) =>
  paths.length === 1
    ? `Apply failed with 1 conflict: conflict with ${owner}: ${paths[0]}`
    : `Apply failed with ${paths.length} conflicts: conflicts with ${owner}:\n${paths.map((path) => `- ${path}`).join('\n')}`;

const SCALARS: readonly Case[] = [
  {
    name: 'sets fields, and owns them',
    acts: [apply('a', { name: 'x', count: 1 })],
    spec: { name: 'x', count: 1 },
    owners: { 'a Apply': { 'f:name': {}, 'f:count': {} } },
  },
  {
    name: 'changes a field of its own',
    acts: [apply('a', { name: 'x' }), apply('a', { name: 'y' })],
    spec: { name: 'y' },
  },
  {
    name: 'removes what it names no more',
    acts: [apply('a', { name: 'x', count: 1 }), apply('a', { name: 'x' })],
    spec: { name: 'x' },
    owners: { 'a Apply': { 'f:name': {} } },
  },
  {
    name: 'does not alter what another applied',
    acts: [apply('a', { name: 'x' }), apply('b', { name: 'y' })],
    refused: conflict('"a"', '.spec.name'),
  },
  {
    name: 'does not alter what another wrote',
    acts: [apply('a', { count: 1 }), update('b', { count: 1, name: 'x' }), apply('a', { name: 'y', count: 1 })],
    refused: conflict('"b" using test.example.com/v1', '.spec.name'),
  },
  {
    name: 'shares a field of the same value',
    acts: [apply('a', { name: 'x' }), apply('b', { name: 'x' })],
    spec: { name: 'x' },
    owners: { 'a Apply': { 'f:name': {} }, 'b Apply': { 'f:name': {} } },
  },
  {
    name: 'leaves a shared field when one owner names it no more',
    acts: [apply('a', { name: 'x' }), apply('b', { name: 'x' }), apply('a', { count: 1 })],
    spec: { name: 'x', count: 1 },
    owners: { 'a Apply': { 'f:count': {} }, 'b Apply': { 'f:name': {} } },
  },
  {
    name: 'conflicts with every owner of a shared field, in their order',
    acts: [apply('b', { name: 'x', count: 1 }), apply('a', { name: 'x' }), apply('c', { name: 'y', count: 2 })],
    refused:
      'Apply failed with 3 conflicts: conflicts with "a":\n- .spec.name\nconflicts with "b":\n- .spec.count\n- .spec.name',
  },
  {
    name: 'takes fields by force, and only those that differ',
    acts: [apply('a', { name: 'x', count: 1 }), force('b', { name: 'y', count: 1 })],
    spec: { name: 'y', count: 1 },
    owners: { 'a Apply': { 'f:count': {} }, 'b Apply': { 'f:name': {}, 'f:count': {} } },
  },
  {
    name: 'forgets a manager whose last field was taken',
    acts: [apply('a', { name: 'x' }), force('b', { name: 'y' })],
    owners: { 'b Apply': { 'f:name': {} } },
  },
  {
    name: 'is nobody of old once it owned nothing: what others set since stays',
    acts: [apply('a', { name: 'x' }), update('b', { name: 'y' }), apply('a', { count: 1 })],
    spec: { name: 'y', count: 1 },
    owners: { 'a Apply': { 'f:count': {} }, 'b Update': { 'f:name': {} } },
  },
  {
    name: 'a manager that both applies and writes has an entry of each',
    acts: [apply('a', { name: 'x' }), update('a', { name: 'y' }), apply('a', { name: 'z' })],
    refused: conflict('"a" using test.example.com/v1', '.spec.name'),
  },
  {
    name: 'a write gives up what it removes, for everybody',
    acts: [apply('a', { name: 'x', count: 1 }), update('b', { count: 1 })],
    owners: { 'a Apply': { 'f:count': {} } },
  },
  {
    name: 'a null is a value that is owned',
    acts: [apply('a', { flag: null })],
    spec: { flag: null },
    owners: { 'a Apply': { 'f:flag': {} } },
  },
  {
    name: 'a null where another has a value is a conflict',
    acts: [apply('a', { flag: true }), apply('b', { flag: null })],
    refused: conflict('"a"', '.spec.flag'),
  },
  {
    name: 'an integer and a text are different values',
    acts: [apply('a', { any: 8080 }), apply('b', { any: '8080' })],
    refused: conflict('"a"', '.spec.any'),
  },
];

const OBJECTS: readonly Case[] = [
  {
    name: 'merge field by field',
    acts: [apply('a', { inner: { a: 1 } }), apply('b', { inner: { b: 2, deep: { c: 3 } } })],
    spec: { inner: { a: 1, b: 2, deep: { c: 3 } } },
    owners: {
      'a Apply': { 'f:inner': { 'f:a': {} } },
      'b Apply': { 'f:inner': { 'f:b': {}, 'f:deep': { 'f:c': {} } } },
    },
  },
  {
    name: 'go with their last field',
    acts: [apply('a', { name: 'x', inner: { deep: { c: 1 } } }), apply('a', { name: 'x' })],
    spec: { name: 'x' },
  },
  {
    name: 'stay, without what was removed, while another owns something in them',
    acts: [apply('a', { inner: { a: 1, deep: { c: 1 } } }), apply('b', { inner: { b: 2 } }), apply('a', { name: 'x' })],
    spec: { inner: { b: 2 }, name: 'x' },
  },
  {
    name: 'that are empty are values that are owned',
    acts: [apply('a', { inner: {}, map: {} })],
    spec: { inner: {}, map: {} },
    owners: { 'a Apply': { 'f:inner': {}, 'f:map': {} } },
  },
  {
    name: 'that are free maps own each key',
    acts: [apply('a', { map: { x: '1' } }), apply('b', { map: { y: '2' } }), apply('a', { map: {} })],
    spec: { map: { y: '2' } },
    owners: { 'a Apply': { 'f:map': {} }, 'b Apply': { 'f:map': { 'f:y': {} } } },
  },
  {
    name: 'in free maps are members themselves',
    acts: [apply('a', { maps: { one: { a: 1 } } })],
    owners: { 'a Apply': { 'f:maps': { 'f:one': { '.': {}, 'f:a': {} } } } },
  },
  {
    name: 'in free maps lose what their applier leaves out, and stay while it names them',
    acts: [apply('a', { maps: { one: { a: 1, b: 2 }, two: { a: 1 } } }), apply('a', { maps: { one: { a: 1 } } })],
    spec: { maps: { one: { a: 1 } } },
  },
  {
    name: 'that are atomic have one owner',
    acts: [apply('a', { whole: { a: 1 } }), apply('b', { whole: { b: 2 } })],
    refused: conflict('"a"', '.spec.whole'),
  },
  {
    name: 'that are atomic are replaced whole',
    acts: [apply('a', { whole: { a: 1 } }), force('b', { whole: { b: 2 } })],
    spec: { whole: { b: 2 } },
    owners: { 'b Apply': { 'f:whole': {} } },
  },
  {
    name: 'without a schema merge by their keys, and their lists are atomic',
    acts: [apply('a', { free: { x: { y: 1 }, l: [1, 2] } }), apply('b', { free: { x: { z: 2 } } })],
    spec: { free: { x: { y: 1, z: 2 }, l: [1, 2] } },
    owners: {
      'a Apply': { 'f:free': { 'f:x': { '.': {}, 'f:y': {} }, 'f:l': {} } },
      'b Apply': { 'f:free': { 'f:x': { '.': {}, 'f:z': {} } } },
    },
  },
  {
    name: 'without a schema may become another sort of value',
    acts: [apply('a', { free: { x: { y: 1 } } }), apply('a', { free: { x: 'text' } })],
    spec: { free: { x: 'text' } },
  },
];

const LISTS: readonly Case[] = [
  {
    name: 'that are atomic are replaced whole, by their owner',
    acts: [apply('a', { plain: ['x', 'y'] }), apply('a', { plain: ['z'] })],
    spec: { plain: ['z'] },
    owners: { 'a Apply': { 'f:plain': {} } },
  },
  {
    name: 'that are atomic are not for others',
    acts: [apply('a', { plain: ['x'] }), apply('b', { plain: [] })],
    refused: conflict('"a"', '.spec.plain'),
  },
  {
    name: 'that are sets gain items',
    acts: [apply('a', { set: ['x', 'y'] }), apply('b', { set: ['z', 'x'] })],
    spec: { set: ['z', 'x', 'y'] },
    owners: {
      'a Apply': { 'f:set': { 'v:"x"': {}, 'v:"y"': {} } },
      'b Apply': { 'f:set': { 'v:"x"': {}, 'v:"z"': {} } },
    },
  },
  {
    name: 'that are sets lose an item only when its last owner leaves it out',
    acts: [
      apply('a', { set: ['x', 'y'] }),
      apply('b', { set: ['x'] }),
      apply('a', { set: [] }),
      apply('b', { set: ['x'] }),
    ],
    spec: { set: ['x'] },
  },
  {
    name: 'that are sets of numbers are one by value',
    acts: [apply('a', { numbers: [10, 9, 100] }), apply('b', { numbers: [9] })],
    owners: {
      'a Apply': { 'f:numbers': { 'v:9': {}, 'v:10': {}, 'v:100': {} } },
      'b Apply': { 'f:numbers': { 'v:9': {} } },
    },
  },
  {
    name: 'by key merge items of one key',
    acts: [
      apply('a', { items: [{ name: 'x', value: 1 }] }),
      apply('b', { items: [{ name: 'x', tags: ['t'] }, { name: 'y' }] }),
    ],
    spec: { items: [{ name: 'x', value: 1, tags: ['t'] }, { name: 'y' }] },
    owners: {
      'a Apply': { 'f:items': { [it_('x')]: { '.': {}, 'f:name': {}, 'f:value': {} } } },
      'b Apply': {
        'f:items': {
          [it_('x')]: { '.': {}, 'f:name': {}, 'f:tags': { 'v:"t"': {} } },
          [it_('y')]: { '.': {}, 'f:name': {} },
        },
      },
    },
  },
  {
    name: 'by key conflict in a field of an item',
    acts: [apply('a', { items: [{ name: 'x', value: 1 }] }), apply('b', { items: [{ name: 'x', value: 2 }] })],
    refused: conflict('"a"', '.spec.items[name="x"].value'),
  },
  {
    name: 'by key lose an item that nobody names any more, and a field of one that others do',
    acts: [
      apply('a', { items: [{ name: 'x', value: 1 }, { name: 'y' }] }),
      apply('b', { items: [{ name: 'x' }] }),
      apply('a', { name: 'n' }),
    ],
    spec: { items: [{ name: 'x' }], name: 'n' },
  },
  {
    name: 'by several keys, one with a default',
    acts: [
      apply('a', { ports: [{ port: 80 }] }),
      apply('b', {
        ports: [
          { port: 80, protocol: 'UDP', note: 'u' },
          { port: 80, protocol: 'TCP', note: 't' },
        ],
      }),
    ],
    spec: {
      ports: [
        { port: 80, protocol: 'UDP', note: 'u' },
        { port: 80, protocol: 'TCP', note: 't' },
      ],
    },
    owners: {
      'a Apply': { 'f:ports': { 'k:{"port":80,"protocol":"TCP"}': { '.': {}, 'f:port': {} } } },
      'b Apply': {
        'f:ports': {
          'k:{"port":80,"protocol":"TCP"}': { '.': {}, 'f:port': {}, 'f:protocol': {}, 'f:note': {} },
          'k:{"port":80,"protocol":"UDP"}': { '.': {}, 'f:port': {}, 'f:protocol': {}, 'f:note': {} },
        },
      },
    },
  },
  {
    name: 'keep the order of the applied items, and those of others near their neighbours',
    acts: [update('z', { set: ['1', '2', '3', '4'] }), apply('a', { set: ['4', '9', '2'] })],
    spec: { set: ['1', '3', '4', '9', '2'] },
  },
  {
    name: 'gain at the end what comes without neighbours',
    acts: [
      update('z', { items: [{ name: 'x' }, { name: 'y' }] }),
      apply('a', { items: [{ name: 'b' }, { name: 'a' }] }),
    ],
    spec: { items: [{ name: 'x' }, { name: 'y' }, { name: 'b' }, { name: 'a' }] },
  },
  {
    name: 'that others wrote keep what an applier shares with them',
    acts: [update('z', { set: ['x', 'y'] }), apply('a', { set: ['x'] }), apply('a', { name: 'n' })],
    spec: { set: ['x', 'y'], name: 'n' },
  },
];

const REFUSED: readonly [what: string, spec: unknown, message: RegExp][] = [
  ['a field that no schema knows', { bogus: 1 }, /: \.spec\.bogus: field not declared in schema$/],
  [
    'one deep inside',
    { items: [{ name: 'x', bogus: 1 }] },
    /: \.spec\.items\[name="x"\]\.bogus: field not declared in schema$/,
  ],
  [
    'an item that is there twice',
    { items: [{ name: 'x' }, { name: 'x' }] },
    /: \.spec\.items: duplicate entries for key \[name="x"\]$/,
  ],
  ['a value that is there twice', { set: ['x', 'x'] }, /: \.spec\.set: duplicate entries for key \[="x"\]$/],
  ['an item without its key', { items: [{ value: 1 }] }, /\.spec\.items: element 0: .*omits all key fields \["name"\]/],
  ['a null item', { items: [null] }, /\.spec\.items: element 0: .*null element/],
  ['a list in a set', { set: [['x']] }, /\.spec\.set: element 0: /],
  ['a text for a number', { count: 'x' }, /\.spec\.count: expected numeric/],
  ['a list for an object', { inner: [] }, /\.spec\.inner: expected map, got \[\]/],
  ['an object for a list', { plain: {} }, /\.spec\.plain: expected list, got \{\}/],
  ['a text in an atomic list of another type', { plain: ['x', 1] }, /\.spec\.plain\[1\]: expected string, got 1/],
];

function check({ acts, spec, owners, refused }: Case): void {
  const world = new ApplyWorld();
  const last = acts.at(-1);
  for (const act of acts.slice(0, -1)) act(world);
  if (refused !== undefined) {
    const before = structuredClone(world.live);
    assert.throws(
      () => last?.(world),
      (error) => error instanceof ApiError && error.message === refused,
    );
    assert.deepEqual(world.live, before);
    return;
  }
  last?.(world);
  if (spec !== undefined) assert.deepEqual(world.spec, spec);
  if (owners !== undefined) assert.deepEqual(world.owners, owners);
}

describe('applying', () => {
  describe('a field', () => {
    for (const one of SCALARS) it(one.name, () => check(one));
  });
  describe('objects', () => {
    for (const one of OBJECTS) it(one.name, () => check(one));
  });
  describe('lists', () => {
    for (const one of LISTS) it(one.name, () => check(one));
  });
  describe('is refused with', () => {
    for (const [what, spec, message] of REFUSED) {
      it(what, () => assert.throws(() => new ApplyWorld().apply('a', spec), { reason: 'BadRequest', message }));
    }
  });
});

describe('the record of an object', () => {
  it('keeps the time of what did not change, and moves it with what did', () => {
    const world = new ApplyWorld().apply('a', { name: 'x' });
    const first = world.live?.metadata.managedFields?.[0]?.time;
    world.apply('a', { name: 'x' });
    assert.equal(world.live?.metadata.managedFields?.[0]?.time, first);
    world.apply('a', { name: 'y' });
    assert.notEqual(world.live?.metadata.managedFields?.[0]?.time, first);
  });

  it('holds ten writers; the oldest become one', () => {
    const world = new ApplyWorld().apply('a', { name: 'x' });
    const map: Record<string, string> = {};
    for (let i = 0; i < 12; i++) {
      map[`k${i}`] = 'v';
      world.update(`w${i}`, { name: 'x', map: { ...map } });
    }
    const owners = Object.keys(world.owners);
    assert.deepEqual(owners.slice(0, 3), ['a Apply', 'ancient-changes Update', 'w3 Update']);
    assert.equal(owners.length, 11);
    assert.deepEqual(world.owners['ancient-changes Update'], {
      'f:map': { '.': {}, 'f:k0': {}, 'f:k1': {}, 'f:k2': {} },
    });
  });

  it('follows a schema that makes atomic what was not: who owned a part owns the whole', () => {
    const spec = THING.schema.properties?.spec;
    const properties = {
      ...spec?.properties,
      inner: { ...spec?.properties?.inner, 'x-kubernetes-map-type': 'atomic' as const },
      set: { type: 'array' as const, items: { type: 'string' as const } },
    };
    const world = new ApplyWorld()
      .apply('a', { inner: { a: 1 }, set: ['x'], name: 'n' })
      .apply('b', { inner: { b: 1 } });
    world.kind = { ...THING, schema: { ...THING.schema, properties: { spec: { ...spec, properties } } } };
    assert.throws(() => world.apply('c', { inner: { b: 2 } }), { reason: 'Conflict' });
    world.update('w', { inner: { a: 2 }, set: ['x'], name: 'n' });
    assert.deepEqual(world.owners, {
      'a Apply': { 'f:name': {}, 'f:set': {} },
      'w Update': { 'f:inner': {} },
    });
  });

  it('begins with before-first-apply where nobody kept one', () => {
    const world = new ApplyWorld().update('z', { name: 'x', count: 1 });
    const { managedFields: _, ...metadata } = world.live?.metadata ?? {
      name: '',
      uid: '',
      resourceVersion: '',
      creationTimestamp: '',
    };
    assert.ok(world.live !== undefined);
    world.live = { ...world.live, metadata };
    world.update('z', { name: 'x', count: 2 });
    assert.deepEqual(world.owners, {}, 'writes alone do not begin one');
    assert.throws(
      () => world.apply('a', { name: 'y' }),
      /conflict with "before-first-apply" using test.example.com\/v1: \.spec\.name/,
    );
    world.apply('a', { name: 'x' });
    assert.deepEqual(Object.keys(world.owners), ['a Apply', 'before-first-apply Update']);
  });
});
