import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DUTY_NAMES } from '../../controllers/duties.ts';
import { runPage } from './run-page.ts';

const PAGE = 'docs/controllers.md';

describe('the page about controllers', function () {
  this.timeout(300_000);

  it('tells what works', async () => {
    const results = await runPage(PAGE, { deadlineMs: 280_000 });
    const said = (command: string) => results.find((result) => result.command.startsWith(command))?.output ?? '';
    assert.match(said('coppice controllers --home ~/.coppice --health'), /stands by for tenant/);
    assert.match(said('until '), /holderIdentity/);
    const lists = results.find(({ command }) => command.startsWith('kubectl get leases'));
    if (lists?.ran === true) assert.match(lists.output, /duty-placement +controllers-/);
    const lives = results.find(({ command }) => command.includes('custom-columns'));
    if (lists?.ran === true) assert.match(lives?.output ?? '', /^controllers-\S+ +\S+\/\d+ +\d{4}-\S+Z$/m);
  });

  it('tells of every duty there is', () => {
    const text = readFileSync(join(import.meta.dirname, '../..', PAGE), 'utf8');
    const told = [...text.matchAll(/^\| `([a-z-]+)` +\|/gm)].map(([, name]) => name);
    assert.deepEqual(told, [...DUTY_NAMES]);
  });
});
