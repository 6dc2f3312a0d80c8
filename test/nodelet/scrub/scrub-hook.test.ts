import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machineProcesses } from '../../../nodelet/drivers/qemu/machine-processes.ts';
import { ScrubHook } from '../../../nodelet/scrub/scrub-hook.ts';
import { silentLogger } from '../../../resources/ambient/log.ts';
import { systemClock } from '../../../resources/ambient/system-clock.ts';
import { until } from '../../harness/until.ts';

const processes = machineProcesses(systemClock);
const LONG_MS = 60_000;

describe('the hook of a host', function () {
  this.timeout(60_000);
  let root: string;
  let hook: ScrubHook;
  let ending: AbortController;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'coppice-hook-'));
    ending = new AbortController();
    const find = (pid: number) => processes.find(pid);
    hook = new ScrubHook({ root, host: 'mac-1', clock: systemClock, log: silentLogger, find });
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  const script = (text: string, mode = 0o700) => writeFile(join(root, 'scrub-hook'), `#!/bin/sh\n${text}\n`, { mode });
  const run = (timeoutMs = LONG_MS) => hook.run('2026-01-01T00:00:00Z', timeoutMs, ending.signal);
  /** Processes that a script of the test started, found by a word of their own. */
  const alive = async (word: string) => (await processes.containing(word)).length;

  it('may be missing', async () => {
    assert.equal(await run(), undefined);
  });

  it('that cannot be run is a failure that says so', async () => {
    await script('true', 0o600);
    assert.match((await run())?.failure ?? '', /scrub-hook is not executable$/);
    await rm(join(root, 'scrub-hook'));
    await mkdir(join(root, 'scrub-hook'));
    assert.match((await run())?.failure ?? '', /scrub-hook cannot be run: /);
  });

  it('keeps the end of much output, as plain text', async () => {
    await script(`i=0; while [ $i -lt 4000 ]; do echo "é line $i"; i=$((i+1)); done; printf '\\033[1mlast\\000\\n'`);
    const output = (await run())?.report.output ?? '';
    assert.ok(output.startsWith('…'));
    assert.match(output, /é line 3999\n\[1mlast$/);
    assert.ok(Buffer.byteLength(output) < 4200);
  });

  it('is ended at its deadline with all it started', async () => {
    const word = `6${process.pid}1`;
    await script(`sleep ${word} & sleep ${word}`);
    const done = await run(300);
    assert.deepEqual(done, { report: { timedOut: true }, failure: 'the hook was ended at its deadline of 0.3 s' });
    await until('nothing of it is left', async () => (await alive(`sleep\0${word}`)) === 0);
  });

  it('leaves nothing behind when it ends by itself', async () => {
    const word = `6${process.pid}2`;
    await script(`sleep ${word} & echo done`);
    assert.deepEqual(await run(), { report: { exitCode: 0, output: 'done' } });
    await until('nothing of it is left', async () => (await alive(`sleep\0${word}`)) === 0);
  });

  it('ends with the nodelet that runs it', async () => {
    const word = `6${process.pid}3`;
    await script(`sleep ${word}`);
    const running = run();
    running.catch(() => {});
    await until('it runs', async () => (await alive(`sleep\0${word}`)) === 1);
    ending.abort(new Error('the nodelet stops'));
    await assert.rejects(running, /the nodelet stops/);
    await until('nothing of it is left', async () => (await alive(`sleep\0${word}`)) === 0);
  });

  it('that outlived a nodelet that was killed is ended before it is run again', async () => {
    const word = `6${process.pid}4`;
    await script(`[ -e ${root}/second ] && exit 0; sleep ${word}`);
    const first = run();
    first.catch(() => {});
    await until(
      'it is noted',
      async () => (await readFile(join(root, 'scrub-hook.json'), 'utf8').catch(() => '')) !== '',
    );
    await until('it runs', async () => (await alive(`sleep\0${word}`)) === 1);
    await writeFile(join(root, 'second'), '');
    assert.deepEqual(await run(), { report: { exitCode: 0 } });
    assert.equal(await alive(`sleep\0${word}`), 0);
    await first;
  });
});
