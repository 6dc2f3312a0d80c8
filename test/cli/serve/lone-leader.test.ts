import assert from 'node:assert/strict';
import { forgetLoneLeader } from '../../../cli/serve/lone-leader.ts';
import { quiesce } from '../../harness/eventually.ts';
import { Fleet } from '../../harness/fleet.ts';

describe('one who leads alone', () => {
  it('does so until whoever serves the store for others takes it away', async () => {
    await using fleet = await Fleet.start();
    const lone = fleet.startControllers('tenant');
    await fleet.eventually('led', () => lone.led.length === 1);
    await fleet.stopControllers();
    await using heir = fleet.startShared('tenant');
    for (let n = 0; n < 40; n++) {
      await fleet.clock.advance(500);
      await quiesce();
    }
    assert.notEqual(heir.health.member, undefined);
    assert.deepEqual(heir.led, []);
    await forgetLoneLeader(fleet.test.server);
    await fleet.eventually('led by the heir', () => heir.led.length === 1);
  });

  it('need not have been there', async () => {
    await using fleet = await Fleet.start();
    await forgetLoneLeader(fleet.test.server);
  });
});
