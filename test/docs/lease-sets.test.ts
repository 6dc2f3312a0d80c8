import assert from 'node:assert/strict';
import { runPage } from './run-page.ts';

describe('the page about sets of leases', function () {
  this.timeout(300_000);

  it('tells what works', async () => {
    const results = await runPage('docs/lease-sets.md', { deadlineMs: 280_000 });
    const step = (command: string) => results.find((result) => result.command.startsWith(command));
    const said = (command: string) => step(command)?.output ?? '';
    if (step('kubectl wait')?.ran !== true) return;
    assert.match(said('coppice get leasesets'), /builders +True +2 +2 +0 +0 +\d+\w+\n/);
    assert.match(
      said('kubectl get leaseset builders -n acme -o jsonpath'),
      /^3 of 4 leases are there; one more is refused: exceeded quota: maxLeasedHosts: requested 1, used 3, limited 3/,
    );
    assert.match(said('kubectl get leaseset builders -n acme --subresource=scale'), /^3 of 3$/m);
    assert.match(said('kubectl get leaseset builders -n acme -o wide'), /builders +True +1 +3 +0 +2 +20\S+Z +\d+\w+\n/);
    assert.match(said('coppice lease idle'), /builders-\w{5} +builders +mac-\d .* in 2[34]h/);
    assert.match(said('kubectl get leases -n acme -o custom'), /builders-\w{5} +Active +/);
  });
});
