import assert from 'node:assert/strict';
import { runPage } from './run-page.ts';

describe('the page about volumes', function () {
  this.timeout(300_000);

  it('tells what works', async () => {
    const results = await runPage('docs/volumes.md', { deadlineMs: 280_000 });
    const said = (command: string) => results.filter((result) => result.command.startsWith(command));
    const [made] = said('coppice volume create pg-data');
    assert.match(
      made?.output ?? '',
      /^volume\.coppice\.dev\/pg-data created\nit lies on host mac-1; in a guest it is \/dev\/disk\/by-id\/virtio-vol-[0-9a-f]{12}\n$/,
    );
    const [listed] = said('coppice volume list');
    assert.match(listed?.output ?? '', /"phase": "Available"/);
    const [early, late] = said('coppice volume resize pg-data');
    if (early?.ran === true) assert.match(early.output, /is forbidden: it is attached to VM db/);
    assert.match(late?.output ?? '', /pg-data has 100Gi/);
    const [refused, forced] = said('coppice scrub mac-1');
    assert.match(
      refused?.output ?? '',
      /the scrub is refused: .*volume demo\/pg-data lies on it; --force removes what remains, and destroys the data of demo/,
    );
    assert.match(forced?.output ?? '', /^host\.coppice\.dev\/mac-1 scrubbed/);
    const [by] = said('kubectl get volume pg-data');
    if (by?.ran === true) assert.equal(by.output, 'the scrub of host mac-1, forced by operator\n');
  });
});
