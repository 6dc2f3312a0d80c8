import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { isObject } from '../../resources/meta/object.ts';
import type { ClientWorld } from './client-world.ts';

/** What a program said of one thing that it tried; `error` is absent when it went well. */
interface Check {
  readonly name: string;
  readonly error?: string;
}

interface ChecksRun {
  readonly checks: readonly Check[];
  /** How the program ended, when not well. */
  readonly failure?: string;
}

export interface ChecksOptions {
  readonly world: ClientWorld;
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The program is killed after this long. */
  readonly limitMs: number;
}

/**
 * Runs a program that tries a client out and prints a line of JSON for each thing tried: `{"check": name}` or `{"check": name, "error": why}`.
 * With `{"ask": "restart"}` or `{"ask": "forget"}` it has the server restarted (forgetting all history), and is answered `done` on stdin.
 * The kubeconfig is in KUBECONFIG. Other lines are what it logs; they are told only when it fails.
 */
export async function runChecks({ world, program, args, env, limitMs }: ChecksOptions): Promise<ChecksRun> {
  const child = spawn(program, args, {
    env: { ...process.env, ...env, KUBECONFIG: world.kubeconfig },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: limitMs,
    killSignal: 'SIGKILL',
  });
  const ended = once(child, 'close');
  // A program that dies while it is answered is told of by how it ended.
  child.stdin.on('error', () => {});
  const logged: string[] = [];
  child.stderr.setEncoding('utf8').on('data', (text: string) => keep(logged, text));
  const checks: Check[] = [];
  for await (const line of createInterface(child.stdout)) {
    const said = parse(line);
    if (typeof said?.check === 'string')
      checks.push({ name: said.check, ...(typeof said.error === 'string' ? { error: said.error } : {}) });
    else if (said?.ask === 'restart' || said?.ask === 'forget') {
      await world.restart({ forgetting: said.ask === 'forget' });
      child.stdin.write('done\n');
    } else keep(logged, `${line}\n`);
  }
  const [code, signal] = await ended;
  if (code === 0) return { checks };
  return { checks, failure: `ended with ${code ?? signal}\n${logged.join('')}` };
}

const KEEP_LINES = 200;

function keep(logged: string[], text: string): void {
  logged.push(text);
  if (logged.length > KEEP_LINES) logged.shift();
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const said: unknown = JSON.parse(line);
    return isObject(said) ? said : undefined;
  } catch {
    return undefined;
  }
}
