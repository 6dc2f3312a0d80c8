import assert from 'node:assert/strict';
import fc from 'fast-check';
import { decide, type Situation } from '../../../controllers/pool/decide.ts';
import type { MemberState } from '../../../controllers/pool/members.ts';
import type { VM } from '../../../resources/kinds/vm.ts';
import { aMember } from '../../harness/pool-objects.ts';

const NOW = Date.UTC(2026, 2, 1);
const STATES: readonly MemberState[] = [
  'ready',
  'warming',
  'waiting',
  'cramped',
  'outdated',
  'silent',
  'failed',
  'going',
];
const UP: readonly MemberState[] = ['ready', 'outdated', 'silent'];

function member(state: MemberState, i: number): Situation['members'][number] {
  const up = UP.includes(state);
  const vm = aMember({
    name: `${state}-${i}`,
    ...(up ? {} : { status: { guest: { id: 'g', power: 'Off', epoch: 3 } } }),
  });
  return { vm, state };
}

/** Its guest is gone, and somebody holds the object. */
function goneMember(i: number): Situation['members'][number] {
  const { vm } = member('going', i);
  const metadata = { ...vm.metadata, deletionTimestamp: vm.metadata.creationTimestamp };
  return { vm: { ...vm, metadata, status: { guest: { id: 'g', power: 'Gone', epoch: 3 } } }, state: 'going' };
}

const pool = (wanted: number, states: string, more: Partial<Situation> = {}): Situation => ({
  wanted,
  room: 100,
  tooMany: 0,
  members: states
    .split(' ')
    .filter((s) => s !== '')
    .map((state, i) => (state === 'gone' ? goneMember(i) : member(state as MemberState, i))),
  ...more,
});

/** As `+2 -Failed:failed-1`. */
function plan(situation: Situation): string {
  const { make, remove, held, atMs } = decide(situation, NOW);
  const gone = remove.map(({ vm, why }) => `-${why}:${vm.metadata.name}`);
  const rest = [held ? 'held' : '', atMs === undefined ? '' : `again in ${(atMs - NOW) / 1000}s`];
  return [make === 0 ? '' : `+${make}`, ...gone, ...rest].filter((s) => s !== '').join(' ');
}

describe('what is done to a pool', () => {
  const disabled = { reason: 'TenantDisabled', message: '', empties: true };
  const noImage = { reason: 'ImageNotFound', message: '', empties: false };
  const cases: readonly [string, Situation, string][] = [
    ['is nothing when it has what is wanted', pool(2, 'ready ready'), ''],
    ['is to make what is missing', pool(3, 'ready'), '+2'],
    ['counts those on their way', pool(3, 'ready warming waiting'), ''],
    ['does not count those that go', pool(1, 'going'), '+1'],
    ['replaces what failed', pool(2, 'ready failed'), '+1 -Failed:failed-1'],
    ['makes no more than there is room for, and says so', pool(5, 'ready', { room: 2 }), '+2 held'],
    [
      'lets go what is least warm of what is too much',
      pool(1, 'ready warming ready'),
      '-Surplus:warming-1 -Surplus:ready-2',
    ],
    ['lets all go when none is wanted', pool(0, 'ready waiting'), '-Surplus:waiting-1 -Surplus:ready-0'],
    ['rolls a part at a time', pool(8, Array(8).fill('outdated').join(' ')), '+2'],
    ['makes no more before those came up', pool(4, 'outdated outdated outdated outdated warming'), ''],
    [
      'lets one that is outdated go for one that is ready',
      pool(2, 'outdated outdated ready'),
      '+1 -Outdated:outdated-1',
    ],
    [
      'lets one go first where the quota has no room',
      pool(2, 'outdated outdated', { room: 0 }),
      '-Outdated:outdated-1 held',
    ],
    ['lets one go first where no host has room', pool(2, 'outdated outdated cramped'), '-Outdated:outdated-1'],
    ['does not, while another is going', pool(2, 'outdated going cramped'), ''],
    ['does not, where hosts have no image yet', pool(2, 'outdated outdated waiting'), ''],
    ['keeps what is outdated while its image is not there', pool(2, 'outdated outdated', { obstacle: noImage }), ''],
    ['makes none without an image', pool(2, 'ready', { obstacle: noImage }), ''],
    [
      'is to empty it where its tenant may not use it',
      pool(2, 'ready warming', { obstacle: disabled }),
      '-Surplus:warming-1 -Surplus:ready-0',
    ],
    ['replaces what is not heard of', pool(2, 'ready silent'), '+1'],
    ['lets it go when there are enough without it', pool(2, 'ready ready silent'), '-Surplus:silent-2'],
    [
      'gives way to a quota',
      pool(3, 'ready ready warming', { room: 0, tooMany: 2 }),
      '-Quota:warming-2 -Quota:ready-1',
    ],
    ['gives way by what goes already', pool(3, 'ready failed going', { room: 0, tooMany: 2 }), '-Failed:failed-1 held'],
    [
      'is not done by what goes and holds nothing any more',
      pool(1, 'ready gone gone', { room: 0, tooMany: 1 }),
      '-Quota:ready-0',
    ],
    ['waits after failures', pool(2, 'ready', { failing: { retryAtMs: NOW + 9_000 } }), 'again in 9s'],
    ['makes one at a time after failures', pool(4, 'ready', { failing: { retryAtMs: NOW } }), '+1'],
    ['and waits for that one', pool(4, 'ready warming', { failing: { retryAtMs: NOW } }), ''],
  ];
  for (const [what, situation, wanted] of cases) it(what, () => assert.equal(plan(situation), wanted));

  it('is never too much: no member goes twice, and of those that are up and as wanted none goes while it is needed', () => {
    const situations = fc.record({
      wanted: fc.integer({ min: 0, max: 12 }),
      room: fc.integer({ min: 0, max: 12 }),
      states: fc.array(fc.constantFrom(...STATES), { maxLength: 20 }),
    });
    fc.assert(
      fc.property(situations, ({ wanted, room, states }) => {
        const situation = pool(wanted, states.join(' '), { room });
        const { make, remove } = decide(situation, NOW);
        const gone = new Set(remove.map(({ vm }) => vm.metadata.uid));
        assert.equal(gone.size, remove.length);
        const left = (state: MemberState) =>
          situation.members.filter((each) => each.state === state && !gone.has(each.vm.metadata.uid)).length;
        const ready = states.filter((state) => state === 'ready').length;
        assert.ok(left('ready') >= Math.min(ready, wanted), 'a ready one that is needed goes');
        assert.ok(
          make <= room && make + left('ready') + left('warming') <= Math.max(wanted, ready),
          'too many are made',
        );
        assert.ok(!remove.some(({ vm }) => vm.metadata.name.startsWith('going')), 'one that goes is deleted again');
      }),
    );
  });

  it('comes to rest: what is made comes up, what goes is gone, and then there is what is wanted', () => {
    const situations = fc.record({
      wanted: fc.integer({ min: 0, max: 8 }),
      states: fc.array(fc.constantFrom(...STATES), { maxLength: 12 }),
    });
    fc.assert(
      fc.property(situations, ({ wanted, states }) => {
        let members = pool(wanted, states.join(' ')).members;
        for (let turn = 0; turn < 60; turn++) {
          const { make, remove } = decide({ wanted, members, room: 100, tooMany: 0 }, NOW);
          const gone = new Set(remove.map(({ vm }) => vm.metadata.uid));
          const lives = members.filter(({ vm, state }) => state !== 'going' && !gone.has(vm.metadata.uid));
          const later = lives.map(({ vm, state }): Situation['members'][number] =>
            state === 'warming' || state === 'waiting' || state === 'cramped'
              ? { vm: { ...vm, status: { guest: { id: 'g', power: 'Running', epoch: 3 } } } as VM, state: 'ready' }
              : { vm, state },
          );
          members = [...later, ...Array.from({ length: make }, (_, i) => member('warming', 100 * (turn + 1) + i))];
        }
        assert.deepEqual(
          members.map(({ state }) => state),
          Array(wanted).fill('ready'),
        );
      }),
    );
  });
});
