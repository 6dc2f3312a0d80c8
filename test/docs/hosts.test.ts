import assert from 'node:assert/strict';
import { runPage } from './run-page.ts';

describe('the page about hosts', function () {
  this.timeout(300_000);

  it('tells what works', async () => {
    const results = await runPage('docs/hosts.md', { deadlineMs: 280_000 });
    const said = (command: string) => results.find((result) => result.command.startsWith(command))?.output ?? '';
    assert.match(said('coppice get hosts'), /build-1/);
    assert.match(said('coppice nodelet --home ~/lab'), /3 hosts, lab-1 to lab-3/);
    assert.match(said('coppice delete host build-1'), /build-1/);
  });
});
