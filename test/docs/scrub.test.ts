import assert from 'node:assert/strict';
import { runPage } from './run-page.ts';

describe('the page about scrubs', function () {
  this.timeout(300_000);

  it('tells what works', async () => {
    const results = await runPage('docs/scrub.md', { deadlineMs: 280_000 });
    const said = (command: string) => results.filter((result) => result.command.startsWith(command));
    const [refused, forced, hooked] = said('coppice scrub mac-1');
    assert.match(refused?.output ?? '', /the scrub is refused: 1 VM is bound to it \(demo\/hello\); --force removes/);
    assert.match(forced?.output ?? '', /^host\.coppice\.dev\/mac-1 scrubbed/);
    assert.match(hooked?.output ?? '', /^host\.coppice\.dev\/mac-1 scrubbed/);
    const [hook] = said('kubectl get host mac-1 -o jsonpath=');
    if (hook?.ran) assert.equal(hook.output, 'cleaning mac-1\n');
    const [hosts] = said('coppice get hosts');
    assert.match(hosts?.output ?? '', /Cordoned/);
    const [heard, forgotten] = said('coppice host forget');
    assert.match(heard?.output ?? '', /host mac-1 is heard/);
    assert.match(forgotten?.output ?? '', /^host\.coppice\.dev\/mac-1 forgotten/);
  });
});
