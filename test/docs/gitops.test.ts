import assert from 'node:assert/strict';
import { runPage } from './run-page.ts';

describe('the page about a fleet in Git', function () {
  this.timeout(300_000);

  it('tells what works', async () => {
    const results = await runPage('docs/gitops.md', { deadlineMs: 280_000 });
    const all = (command: string) => results.filter((result) => result.command.startsWith(command));
    const outputs = (command: string) => all(command).map(({ output }) => output);
    if (all('kubectl wait')[0]?.ran !== true) return;
    const [first = '', drift = ''] = outputs('coppice plan -k fleet  #');
    assert.match(first, /^Plan: 11 created, 2 configured\.$/m);
    assert.match(first, /^It costs at least .* are owed at once\.$/m);
    assert.match(drift, /spec\.quota\.maxVMs: {2}99 → 20/);
    assert.doesNotMatch(outputs('kubectl apply -k fleet')[1] ?? 'configured', /configured|created/);
    assert.match(outputs('kubectl get hosts')[0] ?? '', / mobile +true +20/);
    const [, reverted = ''] = outputs('coppice plan -k fleet --prune');
    assert.match(reverted, /takes over mac-\d, which is held and paid for until/);
    assert.match(outputs('KUBECTL_APPLYSET=true')[0] ?? '', /^pool\.coppice\.dev\/xcode pruned$/m);
  });
});
