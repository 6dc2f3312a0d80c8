import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { processMark } from '../../../../cli/serve/controllers/process-mark.ts';
import { machineProcesses } from '../../../../nodelet/drivers/qemu/machine-processes.ts';
import { systemClock } from '../../../../resources/ambient/system-clock.ts';

const processes = machineProcesses(systemClock);

describe('the mark of a process', () => {
  it('tells others of its machine when it is gone, and nobody else', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    await once(child, 'spawn');
    const mark = await processMark({ processes, hostname: 'here', pid: child.pid ?? 0 });
    const same = await processMark({ processes, hostname: 'here', pid: process.pid });
    const elsewhere = await processMark({ processes, hostname: 'there', pid: process.pid });
    assert.ok(mark !== undefined && same !== undefined && elsewhere !== undefined);
    try {
      assert.equal(await same.isGone(mark.own), false);
    } finally {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    assert.equal(await same.isGone(mark.own), true);
    assert.equal(await elsewhere.isGone(mark.own), false);
  });

  it('is of one process, not of another that has its number later', async () => {
    const own = await processMark({ processes, hostname: 'here', pid: process.pid });
    const [place, pid, startTime] = JSON.parse(own?.own ?? '[]');
    assert.equal(await own?.isGone(own.own), false);
    assert.equal(await own?.isGone(JSON.stringify([place, pid, `${startTime}0`])), true);
    for (const nonsense of ['', 'null', '[]', '{"a":1}']) assert.equal(await own?.isGone(nonsense), false, nonsense);
  });

  it('is none of a process that is not there', async () => {
    assert.equal(await processMark({ processes, hostname: 'here', pid: 2 ** 22 + 1 }), undefined);
  });
});
