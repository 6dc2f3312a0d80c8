import assert from 'node:assert/strict';
import { runPage } from './run-page.ts';

describe('the page about the size of the store', function () {
  this.timeout(300_000);

  it('tells what works', async () => {
    const results = await runPage('docs/store-size.md', { deadlineMs: 280_000 });
    const said = (command: string) => results.find((result) => result.command.startsWith(command));
    assert.match(said('ls -l')?.output ?? '', /state\.db\n.*state\.db-wal/);
    const ready = said('kubectl get --raw');
    if (ready?.ran) assert.match(ready.output, /^\[[+!]\]store-room ok/m);
  });
});
