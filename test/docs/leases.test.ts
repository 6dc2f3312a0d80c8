import assert from 'node:assert/strict';
import { runPage } from './run-page.ts';

describe('the page about leases', function () {
  this.timeout(300_000);

  it('tells what works', async () => {
    const results = await runPage('docs/leases.md', { deadlineMs: 280_000 });
    const step = (command: string) => results.find((result) => result.command.startsWith(command));
    const said = (command: string) => step(command)?.output ?? '';
    if (step('kubectl wait')?.ran !== true) return;
    assert.match(said('coppice lease list'), /ci/);
    assert.match(said('coppice lease release ci'), /minimum term ends at 20/);
    assert.match(said('kubectl get lease large'), /^3 hosts: 3 with too few vCPUs \(the largest has 16, needs 64\)$/);
    assert.match(said('kubectl get hosts -o custom'), /mac-2 +acme +true +20/);
    assert.match(
      said('coppice lease create again'),
      /host mac-2 is leased until 20\S+ at least, for 0\.85 USD an hour/,
    );
    assert.match(said('kubectl get lease again'), /what: ForcedRelease/);
  });
});
