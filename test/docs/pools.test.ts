import assert from 'node:assert/strict';
import { runPage } from './run-page.ts';

describe('the page about warm pools', function () {
  this.timeout(300_000);

  it('tells what works', async () => {
    const results = await runPage('docs/pools.md', { deadlineMs: 280_000 });
    const step = (command: string) => results.find((result) => result.command.startsWith(command));
    const said = (command: string) => step(command)?.output ?? '';
    if (step('kubectl wait')?.ran !== true) return;
    assert.match(said('coppice pool list'), /warm +debian-13 +3 +3 +0 +0/);
    assert.equal(said('kubectl get vms -n acme -l').match(/warm-\w{5} +Running +True/g)?.length, 3);
    assert.equal(said('kubectl get vm quick'), 'pool Claimed warm\n');
    assert.equal(
      said('kubectl get pool warm -n acme -o jsonpath'),
      '3 of 5 members are up; exceeded quota: maxVMs: requested 1, used 4, limited 4\n',
    );
    assert.match(said('coppice pool create common'), /^2 of 2 members are up$/m);
    assert.equal(said('kubectl get vm borrowed'), 'pool ops/common\n');
    assert.match(results.at(-1)?.output ?? '', /quick/);
    assert.doesNotMatch(results.at(-1)?.output ?? '', /warm-/);
  });
});
