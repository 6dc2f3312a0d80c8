import assert from 'node:assert/strict';
import { type DrainWorld, decide, drainedCondition, type Step } from '../../../controllers/drain/decide.ts';
import { START_MS } from '../../../controllers/drain/move.ts';
import { Setbacks } from '../../../controllers/drain/setbacks.ts';
import { rfc3339 } from '../../../resources/ambient/clock.ts';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import type { Host } from '../../../resources/kinds/host.ts';
import type { VM } from '../../../resources/kinds/vm.ts';
import type { Condition } from '../../../resources/meta/condition.ts';
import { aHost, aVM, EPOCH_START } from '../../harness/builders.ts';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const MINUTE_MS = 60_000;

const on = (name: string, spec: Partial<VM['spec']> = {}, host = 'old'): VM =>
  aVM({ name, spec: { hostName: host, guestID: `g-${name}`, epoch: 1, ...spec } });
const leaving = (vm: VM): VM => ({ ...vm, metadata: { ...vm.metadata, deletionTimestamp: EPOCH_START } });
const web = on('web', { reschedulable: true });
const job = on('job', { ttl: '8h' });
const pet = on('pet');

const condition = (type: string, status: Condition['status'], reason: string, message: string, agoMs = 0) => ({
  ...{ type, status, reason, message, lastTransitionTime: rfc3339(NOW - agoMs) },
});
/** What stands in for `web`: unbound, bound, or ready. */
function aStandIn(
  state: 'new' | 'waits' | 'bound' | 'ready' | 'Failed',
  more: { name?: string; agoMs?: number; spec?: Partial<VM['spec']> } = {},
): VM {
  const { name = 'web-move-1', agoMs = 0 } = more;
  const bound = state === 'new' || state === 'waits' ? {} : { hostName: 'new', guestID: 's' };
  const made = aVM({
    name,
    spec: { epoch: 2, standsInFor: { name: 'web', uid: web.metadata.uid }, ...bound, ...more.spec },
  });
  const scheduled =
    state === 'waits'
      ? condition('Scheduled', 'False', 'InsufficientMemory', '0 of 2 hosts fit: 1 Draining, 1 InsufficientMemory')
      : condition('Scheduled', 'True', 'Bound', 'bound', agoMs);
  const ready = condition('Ready', state === 'ready' ? 'True' : 'False', 'x', 'the guest is starting');
  if (state === 'new') return made;
  return {
    ...made,
    status: {
      ...(state === 'ready'
        ? { host: 'new', observedGeneration: 1, guest: { id: 's', power: 'Running' as const, epoch: 2 } }
        : {}),
      phase: state === 'ready' ? 'Running' : state === 'Failed' ? 'Failed' : 'Creating',
      conditions: [scheduled, ready],
    },
  };
}

function aWorld(
  bound: readonly VM[],
  more: Partial<DrainWorld> & { readonly standIns?: readonly VM[]; readonly hosts?: readonly Host[] } = {},
): DrainWorld {
  const { standIns = [], hosts = [aHost({ name: 'new' })], ...rest } = more;
  return {
    mode: 'Reschedule',
    bound,
    unheard: undefined,
    standInsOf: (uid) => standIns.filter((vm) => vm.spec.standsInFor?.uid === uid),
    host: (name) => hosts.find(({ metadata }) => metadata.name === name),
    setbackOf: () => undefined,
    nowMs: NOW,
    monotonicMs: 1_000_000,
    ...rest,
  };
}

function stepText(step: Step): string {
  if (step.kind === 'evict' || step.kind === 'stand-in') return `${step.kind} ${step.vm.metadata.name}`;
  const why = step.kind === 'drop' ? ` (${step.failed ? 'failed: ' : ''}${step.why})` : '';
  return `${step.kind} ${step.standIn.metadata.name}${why}`;
}

/** Going, moving, staying; the steps; what waits. */
function decided(world: DrainWorld): string {
  const { evicting, moving, kept, steps, waiting } = decide(world);
  const waits = waiting.map(({ vm, reason }) => `${vm} waits: ${reason}`);
  return [`${evicting}/${moving}/${kept}`, ...steps.map(stepText), ...waits].join(' | ');
}

describe('what a drain does next', () => {
  it('is what its mode says of each VM', () => {
    const bound = [web, job, pet];
    assert.equal(decided(aWorld(bound, { mode: 'Cordon' })), '0/0/3');
    assert.equal(decided(aWorld(bound, { mode: 'EvictEphemeral' })), '1/0/2 | evict job');
    assert.equal(decided(aWorld(bound)), '1/1/1 | evict job | stand-in web');
    assert.equal(decided(aWorld([leaving(pet), leaving(job)], { mode: 'Cordon' })), '2/0/0');
  });

  it('says of what goes on a host that is not heard that nothing is seen of it', () => {
    const unheard = 'host old is not heard';
    assert.equal(
      decided(aWorld([leaving(pet), job], { unheard })),
      '2/0/0 | evict job | red/job waits: host old is not heard | red/pet waits: host old is not heard',
    );
  });

  const moves: readonly [string, DrainWorld, string][] = [
    ['waits for placement', aWorld([web], { standIns: [aStandIn('new')] }), '0/1/0'],
    [
      'tells why placement has no host',
      aWorld([web], { standIns: [aStandIn('waits')] }),
      '0/1/0 | red/web waits: 0 of 2 hosts fit: 1 Draining, 1 InsufficientMemory',
    ],
    ['waits for the guest', aWorld([web], { standIns: [aStandIn('bound')] }), '0/1/0'],
    ['switches when that is ready', aWorld([web], { standIns: [aStandIn('ready')] }), '0/1/0 | switch web-move-1'],
    [
      'gives up what failed',
      aWorld([web], { standIns: [aStandIn('Failed')] }),
      '0/1/0 | drop web-move-1 (failed: it did not start on new: the guest is starting) | red/web waits: it did not start on new: the guest is starting',
    ],
    [
      'gives up what is late',
      aWorld([web], { standIns: [aStandIn('bound', { agoMs: START_MS })] }),
      '0/1/0 | drop web-move-1 (failed: it was not ready on new after 10 minutes: the guest is starting) | red/web waits: it was not ready on new after 10 minutes: the guest is starting',
    ],
    [
      'is in no hurry once that is ready',
      aWorld([web], { standIns: [aStandIn('ready', { agoMs: START_MS })] }),
      '0/1/0 | switch web-move-1',
    ],
    [
      'leaves a host that takes no VM any more',
      aWorld([web], { standIns: [aStandIn('ready')], hosts: [aHost({ name: 'new', cordoned: true })] }),
      '0/1/0 | drop web-move-1 (failed: host new takes no VM any more) | red/web waits: host new takes no VM any more',
    ],
    [
      'leaves a host that is not ready',
      aWorld([web], { standIns: [aStandIn('ready')], hosts: [aHost({ name: 'new', ready: false })] }),
      '0/1/0 | drop web-move-1 (failed: host new is not ready) | red/web waits: host new is not ready',
    ],
    [
      'leaves a host that is gone',
      aWorld([web], { standIns: [aStandIn('bound')], hosts: [] }),
      '0/1/0 | drop web-move-1 (failed: host new is gone) | red/web waits: host new is gone',
    ],
    [
      'begins anew when the VM is to be something else',
      aWorld([on('web', { reschedulable: true, power: 'Stopped' })], { standIns: [aStandIn('ready')] }),
      '0/1/0 | drop web-move-1 (it is not what web is any more)',
    ],
    [
      'keeps one of two',
      aWorld([web], { standIns: [aStandIn('ready', { name: 'web-move-2' }), aStandIn('bound')] }),
      '0/1/0 | drop web-move-2 (there is another)',
    ],
    [
      'makes another while the last one goes',
      aWorld([web], { standIns: [leaving(aStandIn('bound'))] }),
      '0/1/0 | stand-in web',
    ],
  ];
  for (const [what, world, expected] of moves) it(`${what}`, () => assert.equal(decided(world), expected));

  it('begins again only when the time after a failure is over, and says so until then', () => {
    const setback = { tries: 2, retryAtMs: 1_005_000, told: 'no; tried 2 times, again at noon' };
    const world = aWorld([web], { setbackOf: () => setback });
    assert.equal(decided(world), '0/1/0 | red/web waits: no; tried 2 times, again at noon');
    assert.equal(decide(world).againInMs, 5_000);
    assert.match(decided({ ...world, monotonicMs: 1_005_000 }), / \| stand-in web \| /);
  });

  it('looks again when the first of what comes up would be late', () => {
    const other = on('other', { reschedulable: true });
    const its = aStandIn('bound', {
      name: 'other-move-1',
      agoMs: 4 * MINUTE_MS,
      spec: { standsInFor: { name: 'other', uid: other.metadata.uid } },
    });
    const world = aWorld([web, other], { standIns: [aStandIn('bound', { agoMs: MINUTE_MS }), its] });
    assert.equal(decide(world).againInMs, 6 * MINUTE_MS);
    assert.equal(decide(aWorld([pet])).againInMs, undefined);
  });
});

describe('what is told of a drain', () => {
  const of = (world: DrainWorld) => {
    const { status, reason, message } = drainedCondition(world.mode, decide(world));
    return `${status} ${reason}: ${message}`;
  };

  it('is whether it is done, and how many stay', () => {
    assert.equal(of(aWorld([], { mode: 'EvictEphemeral' })), 'True Empty: it takes no new VM; no VM is left');
    assert.equal(of(aWorld([pet])), 'True KeptRemain: it takes no new VM; 1 VM stays, which mode Reschedule keeps');
    assert.equal(
      of(aWorld([web, job], { mode: 'Cordon' })),
      'True Cordoned: it takes no new VM; 2 VMs stay, as mode Cordon keeps all',
    );
    assert.equal(of(aWorld([], { mode: 'Cordon' })), 'True Cordoned: it takes no new VM; no VM is left');
  });

  it('is what goes, and what stands in the way', () => {
    assert.equal(of(aWorld([job, pet])), 'False InProgress: 1 VM goes, 1 VM stays');
    assert.equal(
      of(aWorld([web, leaving(job)], { standIns: [aStandIn('waits')], unheard: 'x' })),
      'False Waiting: 1 VM goes, 1 VM to be started elsewhere first; waiting: red/job (x), and 1 more',
    );
  });
});

describe('setbacks of moves', () => {
  it('are longer in coming each time, up to five minutes, each VM for itself, and forgotten with it', () => {
    const setbacks = new Setbacks(new ManualClock(NOW));
    const waits: number[] = [];
    for (let n = 0; n < 8; n++) {
      setbacks.add('old', 'a', 'no');
      waits.push(((setbacks.get('old', 'a')?.retryAtMs ?? 0) - new ManualClock(NOW).monotonic()) / 1000);
    }
    assert.deepEqual(waits, [10, 20, 40, 80, 160, 300, 300, 300]);
    setbacks.add('old', 'b', 'no room');
    assert.equal(setbacks.get('old', 'b')?.told, 'no room; tried once, again at 2026-03-01T12:00:10Z');
    setbacks.keep('old', new Set(['b']));
    assert.deepEqual(
      [setbacks.get('old', 'a'), setbacks.get('old', 'b')?.tries, setbacks.get('new', 'b')],
      [undefined, 1, undefined],
    );
  });
});
