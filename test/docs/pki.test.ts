import assert from 'node:assert/strict';
import { runPage } from './run-page.ts';

describe('the page about keys', function () {
  this.timeout(300_000);

  it('tells what works', async () => {
    const results = await runPage('docs/pki.md', { deadlineMs: 280_000 });
    const said = (command: string) => results.find((result) => result.command.startsWith(command))?.output ?? '';
    assert.match(said('coppice pki rotate ca'), /3\. used by server /);
    assert.match(said('coppice apiserver join'), /wrote the keys of the fleet into /);
  });
});
