import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { INVARIANTS } from '../../resources/invariants/all-invariants.ts';
import { runPage } from './run-page.ts';

describe('the page about checking a fleet', function () {
  this.timeout(300_000);

  it('tells what works', async () => {
    const results = await runPage('docs/check.md', { deadlineMs: 280_000 });
    const said = (command: string) => results.find((result) => result.command.startsWith(command))?.output ?? '';
    assert.match(said('coppice check --once'), /^judged revision \d+, \d+ objects: no violation\n$/);
    assert.match(said('coppice check --for 3s'), /^watching \d+ objects .*\njudged .*: no violation\n$/);
    const lines = said('coppice check --for 2s').trim().split('\n');
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).type),
      ['begun', 'summary'],
    );
  });

  it('names every invariant that there is', () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/check.md'), 'utf8');
    const named = [...page.matchAll(/^\| `([a-z-]+)`/gm)].map(([, name]) => name);
    assert.deepEqual(
      named,
      INVARIANTS.map(({ name }) => name),
    );
  });
});
