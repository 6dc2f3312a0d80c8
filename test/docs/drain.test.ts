import assert from 'node:assert/strict';
import { runPage } from './run-page.ts';

describe('the page about drains', function () {
  this.timeout(300_000);

  it('tells what works', async () => {
    const results = await runPage('docs/drain.md', { deadlineMs: 280_000 });
    const said = (command: string) => results.filter((result) => result.command.startsWith(command));
    const [moved, refused, forced] = said('coppice drain ');
    assert.match(
      moved?.output ?? '',
      /^host\.coppice\.dev\/mac-1 drained: it takes no new VM; 1 VM stays, which mode R/,
    );
    assert.match(refused?.output ?? '', /it is leased to demo \(lease ci\), until .* --force/);
    assert.match(forced?.output ?? '', /^host\.coppice\.dev\/mac-3 drained: it takes no new VM; no VM is left\n/);
    const [during, after] = said('coppice drain-status');
    assert.match(
      during?.output ?? '',
      /\nMode +Reschedule\n[\s\S]*\nDrained +True \(KeptRemain\)[\s\S]*\nStaying +1\n$/,
    );
    assert.equal(after?.output, 'host.coppice.dev/mac-1 is not being drained\n');
    const [hosts] = said('coppice get hosts');
    assert.match(hosts?.output ?? '', /"message": "it is (being )?drained.*\n.*\n *"reason": "Drain(ing|ed)"/);
    const [progress] = said('kubectl get host mac-2');
    if (progress?.ran) assert.match(progress.output, /"kept":1.*"mode":"EvictEphemeral"/);
    const [vms] = said('kubectl get vms');
    if (vms?.ran) assert.match(vms.output, /^web +Running +True +mac-2 /m);
    const [events] = said('kubectl get events');
    if (events?.ran) assert.match(events.output, /moved from host mac-1 to mac-2/);
    const [ended] = said('coppice uncordon');
    assert.match(ended?.output ?? '', /mac-1 uncordoned, its drain ended\n.*mac-2 uncordoned/);
  });
});
