// Replays recorded kubectl transcripts. A scenario is a text file: `$ COMMAND` runs with bash in the folder of manifests, and below it
// stand the normalised stdout, the lines of stderr after `! `, and the exit code after `? `. `# ` starts a comment.
import { copyFile, mkdir, mkdtemp, readFile, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { runScript } from './run-script.ts';

interface ReplayOptions {
  readonly scenarioFile: string;
  /** Where commands run. */
  readonly filesDir: string;
  readonly kubeconfig: string;
  /** Path of the kubectl under test. */
  readonly kubectl: string;
  /** Made for each step: what ends one that takes too long. Default 90 s, as the scenarios were recorded with. */
  readonly stepDeadline?: (step: Step) => AbortSignal;
}

interface StepFailure {
  readonly command: string;
  readonly want: readonly string[];
  readonly got: readonly string[];
}

interface ReplayResult {
  readonly total: number;
  readonly matched: number;
  readonly failures: readonly StepFailure[];
}

interface Step {
  readonly command: string;
  readonly want: readonly string[];
}

/**
 * Runs every step of a scenario in a namespace of its own (`t-` and the name of the file), which is created when it is not there, and
 * compares what it prints. Steps run one after another and all of them run. Throws when kubectl cannot prepare the namespace.
 */
export async function replay(options: ReplayOptions): Promise<ReplayResult> {
  const steps = parseScenario(await readFile(options.scenarioFile, 'utf8'));
  const namespace = `t-${basename(options.scenarioFile).replace(/\.[^.]*$/, '')}`;
  const home = await mkdtemp(join(tmpdir(), 'kt'));
  try {
    const run: Run = {
      env: await environment(options, home, namespace),
      cwd: options.filesDir,
      deadline: options.stepDeadline ?? (() => AbortSignal.timeout(90_000)),
    };
    await prepare(namespace, run);
    const failures: StepFailure[] = [];
    for (const { command, want } of steps) {
      const got = await runStep({ command, want }, run);
      if (want.length !== got.length || want.some((line, i) => line !== got[i])) failures.push({ command, want, got });
    }
    return { total: steps.length, matched: steps.length - failures.length, failures };
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

/** The steps of a scenario. */
export function parseScenario(text: string): readonly Step[] {
  const steps: { command: string; want: string[] }[] = [];
  let current: string[] | undefined;
  for (const line of text.split('\n')) {
    if (line.startsWith('$ ')) {
      current = [];
      steps.push({ command: line.slice(2), want: current });
    } else if (line.startsWith('# ')) {
      current = undefined;
    } else {
      current?.push(line);
    }
  }
  for (const { want } of steps) while (want.at(-1) === '') want.pop();
  return steps;
}

const RULES: readonly [pattern: RegExp, replacement: string][] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<uid>'],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '<time>'],
  [/("?resourceVersion"?: ?)"\d+"/g, '$1"<rv>"'],
  [/("continue": ?)"[A-Za-z0-9_\-=]+"/g, '$1"<continue>"'],
  [/(too old resource version: )\d+ \(\d+\)/g, '$1<rv> (<rv>)'],
  [/(Too large resource version: )\d+, current: \d+/g, '$1<rv>, current: <rv>'],
  [/https:\/\/[0-9.a-z]+:\d+/g, '<server>'],
  [/(\s)(\d+[smhd](\d+[smh])?|<invalid>)(?=\s|$)/g, '$1<age>'],
  [/\/tmp\/[A-Za-z0-9_./-]+/g, '<tmp>'],
];

/** Output as transcripts hold it: what differs from run to run is named instead, and columns are two spaces apart. */
export function normalise(text: string): readonly string[] {
  const lines = text.replaceAll('\r', '').split('\n').map(normaliseLine);
  while (lines.at(-1) === '') lines.pop();
  return lines;
}

function normaliseLine(raw: string): string {
  let line = raw.trimEnd();
  if (!/^\s*[-a-zA-Z"{[]*.*:/.test(line) || line.trim().includes('   ')) {
    const indent = line.length - line.trimStart().length;
    line = line.slice(0, indent) + line.slice(indent).replace(/\s{2,}/g, '  ');
  }
  for (const [pattern, replacement] of RULES) line = line.replace(pattern, replacement);
  return line;
}

/** Neighbouring causes of a refusal, sorted: their order is not fixed. */
export function sortCauses(lines: readonly string[]): readonly string[] {
  const sorted = [...lines];
  const isCause = (line: string | undefined): boolean => line?.startsWith('! * ') === true;
  for (let start = 0; start < sorted.length; start++) {
    let end = start;
    while (isCause(sorted[end])) end++;
    if (end - start < 2) continue;
    sorted.splice(start, end - start, ...sorted.slice(start, end).sort());
    start = end - 1;
  }
  return sorted;
}

/** What failed, for a test's message: lines expected and not printed after `-`, printed and not expected after `+`. */
export function describeFailures(failures: readonly StepFailure[]): string {
  return failures
    .map(({ command, want, got }) => {
      const lines = [...want.map((l) => (got.includes(l) ? `  ${l}` : `- ${l}`))];
      const extra = got.filter((l) => !want.includes(l)).map((l) => `+ ${l}`);
      return [`$ ${command}`, ...lines, ...extra].join('\n');
    })
    .join('\n\n');
}

interface Run {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly deadline: (step: Step) => AbortSignal;
}

async function environment(options: ReplayOptions, home: string, namespace: string): Promise<NodeJS.ProcessEnv> {
  const bin = join(home, 'bin');
  const kubeconfig = join(home, 'kubeconfig');
  await mkdir(bin);
  await symlink(await realpath(options.kubectl), join(bin, 'kubectl'));
  await copyFile(options.kubeconfig, kubeconfig);
  const { KUBECTL: _, ...inherited } = process.env;
  const PATH = `${bin}:${inherited.PATH ?? ''}`;
  return {
    ...inherited,
    KUBECONFIG: kubeconfig,
    HOME: home,
    PATH,
    LC_ALL: 'C',
    TZ: 'UTC',
    NS: namespace,
    KUBE_EDITOR: 'true',
  };
}

async function prepare(namespace: string, run: Run): Promise<void> {
  const script = [
    `kubectl config set-context --current --namespace=${namespace} >/dev/null`,
    `{ kubectl get ns ${namespace} >/dev/null 2>&1 || kubectl create ns ${namespace} >/dev/null; }`,
  ].join(' && ');
  const { code, stderr } = await runScript(script, { ...run, signal: run.deadline({ command: script, want: [] }) });
  if (code !== 0) throw new Error(`kubectl could not prepare namespace ${namespace}: ${stderr.trim()}`);
}

async function runStep(step: Step, run: Run): Promise<readonly string[]> {
  const { code, stdout, stderr } = await runScript(step.command, { ...run, signal: run.deadline(step) });
  if (code === undefined) return ['? timeout'];
  const errors = normalise(stderr).filter((line) => !OWN_LOG.test(line));
  return [...sortCauses([...normalise(stdout), ...errors.map((line) => `! ${line}`)]), `? ${code}`];
}

/** What kubectl's own watch logs when its deadline falls between two watches: whether it does is chance. */
const OWN_LOG = /^E\d{4} \S+ +\d+ reflector\.go:\d+\] .*context deadline exceeded/;
