import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeFailures, normalise, parseScenario, replay, sortCauses } from './transcript.ts';

const SCENARIOS = join(import.meta.dirname, 'scenarios');

/** Says what it was called with, and plays the few parts a scenario needs. */
const FAKE_KUBECTL = `#!/usr/bin/env bash
echo "$*" >>"$HOME/../calls"
case "$1 $2" in
  "get ns") exit 1 ;;
  "create ns") [ -e "$HOME/../refuse" ] && { echo "no namespaces today" >&2; exit 1; }; exit 0 ;;
  "config set-context") echo "Context modified." ;;
  "get table") printf 'NAME     AGE\\nw1       5m\\nw2       3d4h   \\n' ;;
  "get raw") echo '{"resourceVersion":"12","uid":"7e57ab1e-0000-4000-8000-000000000001"}' ;;
  "get many") printf 'The Widget is invalid:\\n* b: wrong\\n* a: wrong\\n' >&2; exit 1 ;;
  "get env") echo "$NS $TZ $LC_ALL $KUBE_EDITOR \${KUBECTL-none} $(basename "$KUBECONFIG")" ;;
  "get stuck") sleep 600 & echo $! >"$HOME/../stuck"; wait ;;
  *) echo "unknown: $*" >&2; exit 2 ;;
esac
`;

interface Stage {
  readonly dir: string;
  readonly options: { scenarioFile: string; filesDir: string; kubeconfig: string; kubectl: string };
}

async function stage(scenario: string): Promise<Stage & AsyncDisposable> {
  const dir = await mkdtemp(join(tmpdir(), 'transcript-'));
  const options = {
    scenarioFile: join(dir, '42-fake.txt'),
    filesDir: join(dir, 'files'),
    kubeconfig: join(dir, 'config'),
    kubectl: join(dir, 'fake-kubectl'),
  };
  await mkdir(options.filesDir);
  await writeFile(join(options.filesDir, 'here.yaml'), 'found: me\n');
  await writeFile(options.kubeconfig, 'kind: Config\n');
  await writeFile(options.kubectl, FAKE_KUBECTL.replaceAll('$HOME/..', dir));
  await chmod(options.kubectl, 0o755);
  await writeFile(options.scenarioFile, scenario);
  return { dir, options, [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }) };
}

describe('the transcript runner', () => {
  it('matches steps whose output is as recorded, apart from what differs from run to run', async () => {
    await using play = await stage(`# A scenario.

$ kubectl get table
NAME  AGE
w1  <age>
w2  <age>
? 0

$ kubectl get raw
{"resourceVersion":"<rv>","uid":"<uid>"}
? 0

# Causes come in any order.

$ kubectl get many
! The Widget is invalid:
! * a: wrong
! * b: wrong
? 1

$ cat here.yaml; echo a >&2; exit 3
found: me
! a
? 3

$ kubectl get env | sed 's/kubeconfig/copied/'
t-42-fake UTC C true none copied
? 0

$ echo '["p"]' | python3 -c 'import json,sys; print(json.load(sys.stdin)[0])'
p
? 0
`);
    const result = await replay(play.options);
    assert.deepEqual(result, { total: 6, matched: 6, failures: [] });
    const calls = (await readFile(join(play.dir, 'calls'), 'utf8')).split('\n');
    assert.deepEqual(calls.slice(0, 3), [
      'config set-context --current --namespace=t-42-fake',
      'get ns t-42-fake',
      'create ns t-42-fake',
    ]);
    assert.equal(await readFile(play.options.kubeconfig, 'utf8'), 'kind: Config\n');
  });

  it('tells each step that differs, in text or in exit code, and goes on', async () => {
    await using play = await stage('$ echo one\ntwo\n? 0\n\n$ exit 1\n? 0\n\n$ echo\n? 0\n');
    const { total, matched, failures } = await replay(play.options);
    assert.deepEqual([total, matched], [3, 1]);
    assert.deepEqual(failures, [
      { command: 'echo one', want: ['two', '? 0'], got: ['one', '? 0'] },
      { command: 'exit 1', want: ['? 0'], got: ['? 1'] },
    ]);
    assert.equal(describeFailures(failures.slice(0, 1)), '$ echo one\n- two\n  ? 0\n+ one');
  });

  it('ends a step that takes too long, with everything it started', async () => {
    await using play = await stage('$ kubectl get stuck\n? 0\n');
    const tooLong = new AbortController();
    const replayed = replay({ ...play.options, stepDeadline: () => tooLong.signal });
    const pid = Number(await textOf(join(play.dir, 'stuck')));
    tooLong.abort();
    const { failures } = await replayed;
    assert.deepEqual(failures[0]?.got, ['? timeout']);
    assert.ok(await gone(pid), `process ${pid} is still there`);
  });

  it('throws when the namespace cannot be made', async () => {
    await using play = await stage('$ echo\n? 0\n');
    await writeFile(join(play.dir, 'refuse'), '');
    await assert.rejects(replay(play.options), /could not prepare namespace t-42-fake: no namespaces today/);
  });

  it('reads every step of the recorded scenarios', async () => {
    const counts: Record<string, number> = {};
    for (const file of (await readdir(SCENARIOS)).sort()) {
      const text = await readFile(join(SCENARIOS, file), 'utf8');
      const steps = parseScenario(text);
      counts[file.slice(0, 2)] = steps.length;
      for (const { want, command } of steps) assert.match(want.at(-1) ?? '', /^\? (\d+|timeout)$/, command);
      assert.equal(steps.length, text.split('\n').filter((line) => line.startsWith('$ ')).length);
    }
    assert.deepEqual(Object.keys(counts), ['01', '02', '03', '04', '05', '06', '07', '08']);
  });

  it('leaves recorded output as it is: normalising twice changes nothing', async () => {
    for (const file of await readdir(SCENARIOS)) {
      for (const { command, want } of parseScenario(await readFile(join(SCENARIOS, file), 'utf8'))) {
        const stdout = want.filter((line) => !/^[!?] /.test(line));
        assert.deepEqual(normalise(stdout.join('\n')), stdout.slice(0, lastText(stdout) + 1), command);
      }
    }
  });
});

describe('normalising', () => {
  const cases: readonly [raw: string, normal: readonly string[]][] = [
    ['NAME    AGE\r\nw1      10s  \n\n', ['NAME  AGE', 'w1  <age>']],
    ['  indented   wide', ['  indented  wide']],
    ['key:  kept', ['key:  kept']],
    ['key:   wide   again', ['key:  wide  again']],
    ['at 2030-01-01T00:00:00Z and 2030-01-01T00:00:00.123456Z', ['at <time> and <time>']],
    ['too old resource version: 1 (42)', ['too old resource version: <rv> (<rv>)']],
    ['Too large resource version: 99, current: 42', ['Too large resource version: <rv>, current: <rv>']],
    ['{"continue":"eyJ2_-="}', ['{"continue":"<continue>"}']],
    ['dial https://127.0.0.1:6443/api', ['dial <server>/api']],
    ['diff /tmp/LIVE-1/a.b /tmp/x', ['diff <tmp> <tmp>']],
    ['w1 <invalid>', ['w1 <age>']],
  ];
  for (const [raw, normal] of cases) {
    it(`turns ${JSON.stringify(raw)} into ${JSON.stringify(normal)}`, () => assert.deepEqual(normalise(raw), normal));
  }

  it('sorts causes within a run of them only', () => {
    assert.deepEqual(sortCauses(['! * b', '! * a', '! x', '! * d', '! * c', '? 1']), [
      '! * a',
      '! * b',
      '! x',
      '! * c',
      '! * d',
      '? 1',
    ]);
  });
});

const lastText = (lines: readonly string[]): number => lines.findLastIndex((line) => line !== '');

/** The first line of a file, once it is written; waits ten seconds at most. */
async function textOf(file: string): Promise<string> {
  const deadline = AbortSignal.timeout(10_000);
  while (!deadline.aborted) {
    const text = await readFile(file, 'utf8').catch(() => '');
    if (text.endsWith('\n')) return text.trim();
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error(`${file} was not written`);
}

/** Whether a process ends within five seconds. A zombie that nobody has reaped yet counts as ended. */
async function gone(pid: number): Promise<boolean> {
  const deadline = AbortSignal.timeout(5000);
  while (!deadline.aborted) {
    const state = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    if (state === '' || state.split(') ')[1]?.startsWith('Z')) return true;
    await new Promise((resolve) => setImmediate(resolve));
  }
  return false;
}
