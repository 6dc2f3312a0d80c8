import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { findEtcd } from '../harness/etcd-server.ts';
import { kubectlPath } from '../kubectl/find-kubectl.ts';
import { runScript } from '../kubectl/run-script.ts';
import { type PageStep, pageSteps } from './page-steps.ts';

const ROOT = join(import.meta.dirname, '../..');
const DEADLINE_MS = 300_000;
/** Programs that not every machine has. Commands that name one which is not here are passed over, and that is said. */
const EXTRAS = ['kubectl', 'etcd', 'etcdctl', 'openssl', 'jq', 'curl', 'qemu-img'] as const;

interface PageOptions {
  /** Besides PATH, HOME, COPPICE_HOME (`~/.coppice`) and COPPICE_PORT (0). */
  readonly env?: Readonly<Record<string, string>>;
  /** For the whole page; by default five minutes. */
  readonly deadlineMs?: number;
}

/** What a command of the page came to. */
interface PageResult extends PageStep {
  /** What it wrote, to both streams. */
  readonly output: string;
  /** Whether it was run. */
  readonly ran: boolean;
}

/**
 * Runs the commands of a page in order, in one shell, in a home and a folder of their own where `coppice` is on PATH and `bin` and `manifests` are
 * this tree's. Only blocks marked `sh` are run. What a comment at the end of a command may say:
 *
 * - `coppice up … &  # until it says "up in"`: goes on in the background until the page ends (or `kill %1`); the next command waits for these words.
 *   Without a comment it does not wait.
 * - `… # exits 1`: the exit code that is expected, where it is not 0.
 *
 * Rejects with what the command wrote when one ends otherwise. `page` is a path from the root of the tree, or absolute.
 */
export async function runPage(page: string, options: PageOptions = {}): Promise<readonly PageResult[]> {
  const path = join(page.startsWith('/') ? '' : ROOT, page);
  const steps = pageSteps(readFileSync(path, 'utf8'));
  const home = await mkdtemp(join(tmpdir(), 'coppice-page-'));
  try {
    const records = join(home, '.page');
    const work = join(home, 'work');
    await Promise.all([mkdir(records), mkdir(work)]);
    for (const name of ['bin', 'manifests']) await symlink(join(ROOT, name), join(work, name));
    const env = { ...pageEnv(home), ...options.env, PAGE_RECORDS: records };
    const skipped = passedOver(page, steps, env.PATH);
    const runnable = steps.map((step, at) => (skipped.has(step) ? '' : scriptOf(step, at)));
    const signal = AbortSignal.timeout(options.deadlineMs ?? DEADLINE_MS);
    const { code } = await runScript([PROLOGUE, ...runnable].join('\n'), { cwd: work, env, signal });
    const results = steps.map((step, at) => ({ ...step, output: outputOf(records, at), ran: !skipped.has(step) }));
    if (code !== 0) throw new Error(`${page}: ${whatWentWrong(records, results, code)}`);
    return results;
  } finally {
    await rm(home, { recursive: true, force: true, maxRetries: 5 });
  }
}

function pageEnv(home: string) {
  const etcd = findEtcd();
  const path = [join(ROOT, 'bin'), ...(etcd === undefined ? [] : [join(etcd, '..')]), process.env.PATH ?? ''];
  return {
    PATH: path.join(delimiter),
    HOME: home,
    COPPICE_HOME: join(home, '.coppice'),
    COPPICE_PORT: '0',
    COPPICE_SETUP: 'skip',
  };
}

function passedOver(page: string, steps: readonly PageStep[], path: string): ReadonlySet<PageStep> {
  const missing = EXTRAS.filter((program) => !isHere(program, path));
  const skipped = new Set<PageStep>();
  for (const step of steps) {
    const program = missing.find((name) => new RegExp(`(^|[\\s;|&($])${name}\\s`).test(`${step.command} `));
    if (program === undefined) continue;
    skipped.add(step);
    process.stderr.write(`skipped: ${page}:${step.line} needs ${program}: ${step.command}\n`);
  }
  return skipped;
}

function isHere(program: (typeof EXTRAS)[number], path: string): boolean {
  const found = path.split(delimiter).some((folder) => isProgram(join(folder, program)));
  return found && (program !== 'kubectl' || typeof kubectlPath() === 'string');
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Ends with the first command that does not end as expected, and stops what runs in the background either way. */
const PROLOGUE = `
page_stop() { code=$?; trap - EXIT; jobs=$(jobs -p); [ -z "$jobs" ] || kill $jobs 2>"$PAGE_RECORDS/kill"; wait; exit $code; }
trap page_stop EXIT
page_done() { [ "$2" = "$3" ] || { echo "$1 $2" >"$PAGE_RECORDS/failed"; exit 1; }; }
page_until() {
  until grep -qF -- "$3" "$PAGE_RECORDS/$1.out"; do
    kill -0 "$2" 2>"$PAGE_RECORDS/kill" || { echo "$1 mute" >"$PAGE_RECORDS/failed"; exit 1; }
    sleep 0.05
  done
}
`;

function scriptOf({ command, background, until, exitCode }: PageStep, at: number): string {
  const begin = `echo ${at} >"$PAGE_RECORDS/current"\nexec >"$PAGE_RECORDS/${at}.out" 2>&1 </dev/null`;
  const end = `page_done ${at} $? ${exitCode}`;
  const wait = background && until !== undefined ? `page_until ${at} $! '${until.replaceAll("'", "'\\''")}'` : '';
  return [begin, command, background ? wait : end].join('\n');
}

function outputOf(records: string, at: number): string {
  const path = join(records, `${at}.out`);
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

function whatWentWrong(records: string, results: readonly PageResult[], code: number | undefined): string {
  const failed = join(records, 'failed');
  const known = existsSync(failed) ? failed : join(records, 'current');
  const [at = '0', ended = code === undefined ? 'late' : String(code)] = readFileSync(known, 'utf8').trim().split(' ');
  const result = results[Number(at)];
  const how: Readonly<Record<string, string>> = {
    late: 'was not done in time',
    mute: `ended and never said "${result?.until}"`,
  };
  const what = how[ended] ?? `ended with ${ended}, not ${result?.exitCode}`;
  return `line ${result?.line}: ${result?.command}\n${what}:\n${result?.output}`;
}
