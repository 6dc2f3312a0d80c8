import assert from 'node:assert/strict';
import { runPage } from './run-page.ts';

describe('the page about placement', function () {
  this.timeout(300_000);

  it('tells what works', async () => {
    const results = await runPage('docs/placement.md', { deadlineMs: 280_000 });
    const said = (command: string) => results.find((result) => result.command.startsWith(command))?.output ?? '';
    assert.match(said('coppice explain-placement hello'), /^VM demo\/hello is bound to mac-\d\./);
    assert.match(said('coppice explain-placement web'), /Now: +Cordoned: 0 of 2 hosts fit: 2 Cordoned\n/);
    assert.match(said('coppice rebalance'), /Nothing is proposed: no host is above 85%\./);
  });
});
