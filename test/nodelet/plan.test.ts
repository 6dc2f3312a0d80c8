import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { ObservedGuest } from '../../nodelet/drivers/driver.ts';
import {
  type Action,
  FACTS,
  type Fact,
  factOf,
  isDestructive,
  PLAN,
  WISHES,
  type Wish,
  wishOf,
} from '../../nodelet/plan.ts';
import type { VM } from '../../resources/kinds/vm.ts';

const cells = WISHES.flatMap((wish) => FACTS.map((fact) => ({ wish, fact, cell: PLAN[wish][fact] })));

describe('plan', () => {
  it('has every cell, and none besides', () => {
    assert.deepEqual(Object.keys(PLAN), [...WISHES]);
    for (const wish of WISHES) assert.deepEqual(Object.keys(PLAN[wish]), [...FACTS], wish);
  });

  it('says why where a wrong answer would lose something', () => {
    const dangerous = cells.filter(
      ({ wish, fact, cell }) =>
        cell.action === 'destroy' ||
        cell.action === 'stop-stale' ||
        cell.action === 'report-gone' ||
        cell.phase === 'Interrupted' ||
        fact === 'Newer' ||
        (wish === 'NoVM' && fact !== 'None' && fact !== 'Lost'),
    );
    assert.ok(dangerous.length > 40);
    for (const { wish, fact, cell } of dangerous) assert.ok((cell.why ?? '').length > 20, `${wish} × ${fact}`);
  });

  it('removes a guest only for an object that is being deleted, or an orphan that an operator named', () => {
    for (const { wish, fact, cell } of cells) {
      if (cell.action === 'destroy') assert.ok(['Deleting', 'Unwanted'].includes(wish), `${wish} × ${fact}`);
    }
  });

  it('never touches a guest that nobody here names, nor one of a newer binding', () => {
    for (const fact of FACTS) assert.equal(PLAN.NoVM[fact].action, 'none', fact);
    const named = WISHES.filter((wish) => wish !== 'Unwanted');
    for (const wish of named) assert.equal(PLAN[wish].Newer.action, 'none', wish);
  });

  it('starts nothing where something of the guest still runs', () => {
    const on: Fact[] = ['Starting', 'Running', 'Paused', 'Stopping', 'OlderOn'];
    for (const { wish, fact, cell } of cells) {
      const starts = fact === 'Starting' ? ['create', 'adopt'] : ['create', 'start', 'adopt'];
      if (on.includes(fact)) assert.ok(!starts.includes(cell.action), `${wish} × ${fact}`);
    }
  });

  it('waits for no start or stop to end by itself: whoever was at it may be gone', () => {
    for (const wish of ['Running', 'Stopped', 'Paused', 'Deleting'] as const) {
      for (const fact of ['Starting', 'Stopping'] as const) {
        assert.notEqual(PLAN[wish][fact].action, 'none', `${wish} × ${fact}`);
      }
    }
  });

  it('starts nothing by itself that went off by itself', () => {
    for (const fact of ['OffByGuest', 'OffCrashed', 'OffRebooted', 'Lost'] as const) {
      for (const wish of WISHES) assert.ok(!['create', 'start'].includes(PLAN[wish][fact].action), `${wish} × ${fact}`);
    }
  });

  it('lets an object go only when nothing is left', () => {
    for (const { wish, fact, cell } of cells) {
      if (cell.action === 'release') assert.ok(wish === 'Deleting' && (fact === 'None' || fact === 'Lost'));
    }
  });

  it('gives every VM a phase', () => {
    for (const { wish, fact, cell } of cells) {
      assert.equal(cell.phase !== undefined, !['NoVM', 'Elsewhere', 'Unwanted'].includes(wish), `${wish} × ${fact}`);
    }
  });

  it('comes to rest: from anywhere, a few steps lead to a cell with nothing to do', () => {
    for (const wish of WISHES) {
      for (const first of FACTS) {
        let fact = first;
        for (let step = 0; step < 6; step++) fact = outcomeOf(PLAN[wish][fact].action, fact);
        assert.ok(['none', 'report-gone', 'release'].includes(PLAN[wish][fact].action), `${wish} × ${first}`);
      }
    }
  });

  it('makes of any history of wishes what the last one says, and loses no guest on the way', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom<Wish>('Running', 'Stopped', 'Paused', 'NoVM')), (wishes) => {
        let fact: Fact = 'NeverStarted';
        for (const wish of wishes) {
          for (let step = 0; step < 6; step++) fact = outcomeOf(PLAN[wish][fact].action, fact);
          assert.notEqual(fact, 'None');
        }
        const last = wishes.at(-1);
        if (last === 'Running') assert.equal(fact, 'Running');
        if (last === 'Stopped') assert.ok(fact === 'OffOnRequest' || fact === 'NeverStarted');
      }),
    );
  });

  it('reads the facts of a guest against the binding of its object', () => {
    assert.equal(factOf(undefined, aVM({})), 'None');
    assert.equal(factOf(undefined, aVM({ guest: { id: 'g', power: 'Running', epoch: 2 } })), 'Lost');
    assert.equal(factOf(aGuest({ power: 'Running', epoch: 2 }), aVM({})), 'Running');
    assert.equal(factOf(aGuest({ power: 'Running', epoch: 1 }), aVM({})), 'OlderOn');
    assert.equal(factOf(aGuest({ power: 'Off', epoch: 1 }), aVM({})), 'OlderOff');
    assert.equal(factOf(aGuest({ power: 'Off', epoch: 3 }), aVM({})), 'Newer');
    assert.equal(factOf(aGuest({ power: 'Off', epoch: 2 }), aVM({})), 'NeverStarted');
    assert.equal(factOf(aGuest({ power: 'Off', epoch: 2, stopReason: 'Crashed' }), aVM({})), 'OffCrashed');
    assert.equal(factOf(aGuest({ power: 'Off', epoch: 2, stopReason: 'GuestShutdown' }), aVM({})), 'OffByGuest');
  });

  it('takes a deletion over what the spec says', () => {
    const vm = aVM({});
    assert.equal(wishOf(vm), 'Running');
    assert.equal(
      wishOf({ ...vm, metadata: { ...vm.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }),
      'Deleting',
    );
  });

  it('calls destructive what ends a guest', () => {
    assert.deepEqual([...new Set(cells.map(({ cell }) => cell.action))].filter(isDestructive).sort(), [
      'destroy',
      'stop',
      'stop-stale',
    ]);
  });
});

/** What a driver makes of an action. */
function outcomeOf(action: Action, fact: Fact): Fact {
  const outcomes: Partial<Record<Action, Fact>> = {
    create: 'NeverStarted',
    adopt: 'OffOnRequest',
    start: 'Running',
    resume: 'Running',
    pause: 'Paused',
    stop: 'OffOnRequest',
    acknowledge: 'OffOnRequest',
    'stop-stale': 'OlderOff',
    destroy: 'None',
  };
  return outcomes[action] ?? fact;
}

function aGuest(changes: Partial<ObservedGuest>): ObservedGuest {
  return {
    id: 'g',
    label: 'demo/a',
    power: 'Running',
    agentReady: true,
    guestOS: 'linux',
    vcpus: 1,
    memoryBytes: 1,
    epoch: 2,
    imageDigest: 'sha256:0',
    addresses: [],
    ...changes,
  };
}

function aVM(status: NonNullable<VM['status']>): VM {
  return {
    apiVersion: 'coppice.dev/v1',
    kind: 'VM',
    metadata: {
      name: 'a',
      namespace: 'demo',
      uid: 'g',
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    spec: { image: 'tiny', class: 'flex', power: 'Running', hostName: 'mac-1', epoch: 2, guestID: 'g' },
    status,
  };
}
