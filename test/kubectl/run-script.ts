import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';

/** What a script came to. `code` undefined: the signal fired, and all it had started was killed. */
interface ScriptResult {
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** More output than this of one script is not kept. */
const MOST_OUTPUT = 4 * 1024 * 1024;

/** Runs a script with bash, in a process group of its own. */
export async function runScript(
  script: string,
  { cwd, env, signal }: { readonly cwd: string; readonly env: NodeJS.ProcessEnv; readonly signal: AbortSignal },
): Promise<ScriptResult> {
  const child = spawn('bash', ['-c', script], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const out = collect(child.stdout);
  const err = collect(child.stderr);
  try {
    const [code, killedBy] = (await once(child, 'close', { signal })) as [number | null, NodeJS.Signals | null];
    // As Python reports a process that died of a signal.
    return { code: code ?? -(killedBy === null ? 0 : constants.signals[killedBy]), stdout: out(), stderr: err() };
  } catch (error) {
    if (!(error instanceof Error && error.name === 'AbortError')) throw error;
    if (child.pid !== undefined) killGroup(child.pid);
    return { code: undefined, stdout: out(), stderr: err() };
  }
}

function collect(stream: NodeJS.ReadableStream): () => string {
  const chunks: Buffer[] = [];
  let size = 0;
  stream.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= MOST_OUTPUT) chunks.push(chunk);
  });
  return () => Buffer.concat(chunks).toString('utf8');
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
