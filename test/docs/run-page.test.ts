import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../harness/until.ts';
import { pageSteps } from './page-steps.ts';
import { runPage } from './run-page.ts';

const block = (mark: string, ...lines: string[]) => ['', `\`\`\`${mark}`, ...lines, '```', ''].join('\n');

describe('running a page', function () {
  this.timeout(120_000);
  let folder: string;
  const run = (...blocks: string[]) => {
    const page = join(folder, 'page.md');
    writeFileSync(page, ['# A page', ...blocks].join('\n'));
    return runPage(page, { env: { OUT: folder } });
  };
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'coppice-page-test-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('runs blocks marked sh and no others, in one shell', async () => {
    const results = await run(
      block('sh', 'A=one', 'export B=two'),
      block('sh no-run', 'touch "$OUT/never"; false'),
      block('console', '$ false'),
      block('sh', '# a remark', 'echo "$A $B"', 'cat <<EOF', 'three', 'EOF', 'for n in 4 5', 'do echo $n', 'done'),
    );
    assert.deepEqual(
      results.map(({ output }) => output),
      ['', '', 'one two\n', 'three\n', '4\n5\n'],
    );
  });

  it('has coppice and this tree’s manifests at hand, and a home of its own', async () => {
    const [version, manifests, home] = await run(
      block('sh', 'coppice --version', 'ls manifests', 'echo "$HOME $COPPICE_HOME"'),
    );
    assert.match(version?.output ?? '', /\d+\.\d+\.\d+/);
    assert.match(manifests?.output ?? '', /quickstart/);
    assert.match(home?.output ?? '', /^(\/\S*coppice-page-\S+) \1\/\.coppice\n$/);
  });

  it('stops at a command that ends otherwise than expected, and shows it', async () => {
    await assert.rejects(run(block('sh', 'true', 'echo why >&2; (exit 3)', 'touch "$OUT/never"')), (error: Error) => {
      assert.match(error.message, /line 5: echo why[^\n]*\nended with 3, not 0:\nwhy\n$/);
      return true;
    });
    await run(block('sh', '(exit 3)  # this is refused: exits 3'));
    await assert.rejects(run(block('sh', 'true  # exits 3')), /ended with 0, not 3/);
    assert.throws(() => readFileSync(join(folder, 'never')), { code: 'ENOENT' });
  });

  it('starts what ends in & in the background, waits for its words, and stops it in the end', async () => {
    const served = 'serve() { echo $BASHPID >"$OUT/pid"; sleep 0.3; echo ready; while :; do sleep 0.05; done; }';
    const results = await run(
      block('sh', served, 'serve &  # until it says "ready"', 'kill -0 "$(cat "$OUT/pid")"', 'kill -0 %1'),
    );
    assert.equal(results[1]?.output.startsWith('ready\n'), true);
    const pid = Number(readFileSync(join(folder, 'pid'), 'utf8'));
    await until('the process is gone', () => {
      try {
        return !process.kill(pid, 0);
      } catch {
        return true;
      }
    });
    await assert.rejects(run(block('sh', 'echo no &  # until it says "yes"')), /ended and never said "yes":\nno/);
  });

  it('passes over commands whose program is not here, and runs the others', async () => {
    const page = join(folder, 'page.md');
    writeFileSync(page, block('sh', 'kubectl get vms', 'A=$(kubectl version)', 'echo kubectls'));
    const programs = join(folder, 'programs');
    mkdirSync(programs);
    symlinkSync('/bin/bash', join(programs, 'bash'));
    const results = await runPage(page, { env: { PATH: programs } });
    assert.deepEqual(
      results.map(({ ran, output }) => [ran, output]),
      [
        [false, ''],
        [false, ''],
        [true, 'kubectls\n'],
      ],
    );
  });

  it('gives up on a page that takes too long', async () => {
    const page = join(folder, 'page.md');
    writeFileSync(page, block('sh', 'echo begun', 'sleep 1000'));
    await assert.rejects(runPage(page, { deadlineMs: 1_000 }), /sleep 1000\nwas not done in time/);
  });

  it('takes no page that has nothing to run, nor a command without its end', () => {
    assert.throws(() => pageSteps(`words${block('sh no-run', 'true')}`), /no block marked sh/);
    assert.throws(() => pageSteps(block('sh', 'cat <<EOF', 'never ended')), /line 3: the command is not ended/);
  });
});
