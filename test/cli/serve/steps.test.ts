import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import type { Io } from '../../../cli/io.ts';
import { Steps } from '../../../cli/serve/steps.ts';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';

function stage(isTTY: boolean) {
  const clock = new ManualClock();
  const stdout = Object.assign(new PassThrough(), { isTTY });
  const ending = new AbortController();
  const io: Io = {
    stdin: new PassThrough(),
    stdout,
    stderr: new PassThrough(),
    env: {},
    cwd: '/',
    userHome: '/',
    signal: ending.signal,
  };
  return { clock, steps: new Steps(io, clock), ending, said: () => String(stdout.read() ?? '') };
}

describe('the steps of up', () => {
  it('are one plain line each when nobody watches', async () => {
    const { clock, steps, said } = stage(false);
    let meanwhile = '';
    const result = await steps.step(
      'hosts',
      async () => {
        meanwhile = said();
        await clock.advance(1240);
        return 3;
      },
      (made) => `${made} hosts`,
    );
    assert.equal(result, 3);
    assert.equal(meanwhile, '');
    assert.equal(said(), '✓ 3 hosts  (1.2 s)\n');
  });

  it('say on a terminal what is being done, and finish that line in place', async () => {
    const { steps, said } = stage(true);
    let meanwhile = '';
    await steps.step('hosts', async () => {
      meanwhile = said();
    });
    assert.equal(meanwhile, '  hosts …');
    assert.equal(said(), '\r\u001b[K✓ hosts  (0.0 s)\n');
  });

  it('say which one failed, and throw on', async () => {
    const { steps, said } = stage(false);
    await assert.rejects(
      steps.step('hosts', () => Promise.reject(new Error('no'))),
      /^Error: no$/,
    );
    assert.equal(said(), '✗ hosts  (0.0 s)\n');
  });

  it('call nothing failed that Ctrl-C ended', async () => {
    const { steps, said, ending } = stage(false);
    ending.abort();
    await assert.rejects(
      steps.step('hosts', () => Promise.reject(new Error('no'))),
      /^Error: no$/,
    );
    assert.equal(said(), '');
  });
});
