import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FAULTS, OPERATIONS } from '../../nodelet/drivers/sim/faults/fault.ts';
import { runPage } from './run-page.ts';

const PAGE = 'docs/simulator.md';

describe('the page about the simulator', function () {
  this.timeout(300_000);

  it('tells what works', async () => {
    const results = await runPage(PAGE, { deadlineMs: 280_000 });
    const said = (command: string) => results.find((result) => result.command.startsWith(command))?.output ?? '';
    assert.match(said('coppice up --driver sim --hosts 2'), /; faults of faults\.yaml, seed 7\n/);
    const struck = said("grep ' info fault '");
    assert.equal(struck.match(/fault=FailedOperation operation=Start vm=demo\/hello/g)?.length, 3);
    assert.equal(struck.match(/fault=Partition lastsMs=5000/g)?.length, 2);
    assert.match(said('coppice get vms'), /hello +Running +True/);
    assert.match(
      said('coppice up --driver sim --faults bad.yaml'),
      /^error: --faults: bad\.yaml, line 1: faults\[0\]\.for: 10 is not a duration/,
    );
  });

  it('tells of every fault, field and operation there is', () => {
    const text = readFileSync(join(import.meta.dirname, '../..', PAGE), 'utf8');
    const names = Object.entries(FAULTS).flatMap(([name, { properties }]) => [name, ...Object.keys(properties)]);
    for (const word of new Set([...names, ...OPERATIONS])) assert.ok(text.includes(`\`${word}\``), word);
  });
});
