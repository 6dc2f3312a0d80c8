import assert from 'node:assert/strict';
import { runPage } from './run-page.ts';

describe('the page about tenants', function () {
  this.timeout(300_000);

  it('tells what works', async () => {
    const results = await runPage('docs/tenants.md', { deadlineMs: 280_000 });
    const found = (command: string) => results.find((result) => result.command.includes(command));
    const said = (command: string) => found(command)?.output ?? '';
    assert.match(said('tenant list'), /acme.*\n?.*beta/s);
    assert.match(said('--timeout 5s'), /hint: it waits until 1 lease is over: ci \(mac-\d, at \d{4}-\S+Z\)/);
    assert.match(said('--force -y'), /^tenant\.coppice\.dev\/acme deleted$/m);
    if (found('auth whoami')?.ran !== true) return;
    assert.match(said('auth whoami'), /system:tenant:acme/);
    assert.equal(said('auth can-i'), 'yes\n');
    assert.match(said('get vms -A'), /^acme +build-1/m);
    assert.match(said('get vms -n beta'), /NotFound.*namespaces "beta" not found/);
    assert.match(said('acme.kubeconfig get vms  #'), /tenant acme is disabled: its tokens are refused/);
  });
});
