import assert from 'node:assert/strict';
import fc from 'fast-check';
import { FaultState } from '../../../../nodelet/drivers/sim/fault-state.ts';
import { faultsOf, parseFaults } from '../../../../nodelet/drivers/sim/faults.ts';

describe('the faults of a simulated host', () => {
  it('reads each kind', () => {
    assert.deepEqual(parseFaults('start=5s, list=1m30s250ms'), [
      { kind: 'slow', operation: 'start', ms: 5000 },
      { kind: 'slow', operation: 'list', ms: 90_250 },
    ]);
    assert.deepEqual(parseFaults('fail-next=start:2,fail-next=exec'), [
      { kind: 'fail-next', operation: 'start', times: 2 },
      { kind: 'fail-next', operation: 'exec', times: 1 },
    ]);
    assert.deepEqual(parseFaults('lose=demo/hello,crash=1234@2h'), [
      { kind: 'lose', guest: 'demo/hello', afterMs: 0 },
      { kind: 'crash', guest: '1234', afterMs: 7_200_000 },
    ]);
    assert.deepEqual(parseFaults('leak-slot,leak-slot=0'), [
      { kind: 'leak-slot', slots: 1 },
      { kind: 'leak-slot', slots: 0 },
    ]);
    assert.deepEqual(parseFaults('clock=+10s,clock=-1m'), [
      { kind: 'clock', ms: 10_000 },
      { kind: 'clock', ms: -60_000 },
    ]);
    assert.deepEqual(parseFaults('  '), []);
  });

  it('means one host when an item says so', () => {
    const faults = parseFaults('mac-3:start=5s,mac-4:leak-slot,stop=1s');
    assert.deepEqual(faultsOf(faults, 'mac-3'), [
      { kind: 'slow', operation: 'start', ms: 5000, host: 'mac-3' },
      { kind: 'slow', operation: 'stop', ms: 1000 },
    ]);
    assert.deepEqual(faultsOf(faults, 'mac-1'), [{ kind: 'slow', operation: 'stop', ms: 1000 }]);
  });

  const refused: readonly [string, RegExp][] = [
    ['start', /"start": "" is not a duration/],
    ['start=5', /"start=5": "5" is not a duration/],
    ['start=s', /"s" is not a duration/],
    ['start=5s,,stop=1s', /"": expected/],
    ['boot=5s', /"boot=5s": there is no fault "boot"; there are create, start/],
    ['fail-next=boot', /fail-next=OPERATION/],
    ['fail-next=start:two', /"two" is not a whole number/],
    ['fail-next=start:1:2', /fail-next=OPERATION/],
    ['lose=', /expected a guest/],
    ['lose', /expected a guest/],
    ['crash=a@soon', /"soon" is not a duration/],
    ['leak-slot=3', /"3" is not a whole number from 0 to 2/],
    ['clock=10s', /with its sign/],
    ['START=5s', /"START=5s": expected/],
  ];
  for (const [text, message] of refused) {
    it(`refuses ${JSON.stringify(text)} and names the item`, () => {
      assert.throws(() => parseFaults(text), message);
    });
  }

  it('never throws anything but its own sentence', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        try {
          parseFaults(text);
        } catch (error) {
          assert.ok(error instanceof RangeError && error.message.startsWith('faults: '));
        }
      }),
    );
  });

  it('counts failures down, per operation', () => {
    const state = new FaultState(parseFaults('fail-next=start:2'));
    assert.deepEqual(
      [state.takeFailure('stop'), state.takeFailure('start'), state.takeFailure('start'), state.takeFailure('start')],
      [false, true, true, false],
    );
  });

  it('ends a guest once, when its time has come', () => {
    const state = new FaultState(parseFaults('lose=demo/a@30s'));
    assert.equal(state.takeEnd('id', 'demo/a', 29_999), undefined);
    assert.equal(state.takeEnd('id', 'demo/b', 40_000), undefined);
    assert.equal(state.takeEnd('id', 'demo/a', 30_000), 'lose');
    assert.equal(state.takeEnd('id', 'demo/a', 50_000), undefined);
  });
});
