import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { runCli } from '../../cli/main.ts';
import type { FakeApi } from './fake-api.ts';

export interface CliRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface RunOptions {
  readonly stdin?: string | PassThrough;
  /** Whether the streams are a terminal. */
  readonly tty?: boolean;
  readonly signal?: AbortSignal;
  readonly env?: Readonly<Record<string, string>>;
  /** Told stdout so far, whenever more comes. */
  readonly onStdout?: (soFar: string) => void;
}

/** A folder of its own with a kubeconfig for a fake server, and the CLI run in it. */
export class CliFolder implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async make(api?: FakeApi): Promise<CliFolder> {
    const folder = new CliFolder(await mkdtemp(join(tmpdir(), 'coppice-cli-')));
    if (api !== undefined) await folder.write('kubeconfig', api.kubeconfig());
    return folder;
  }

  /** Writes a file and answers its full path. */
  async write(name: string, content: string | Uint8Array): Promise<string> {
    const file = join(this.path, name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
    return file;
  }

  async run(argv: readonly string[], options: RunOptions = {}): Promise<CliRun> {
    const stdin = typeof options.stdin === 'object' ? options.stdin : new PassThrough();
    if (typeof options.stdin !== 'object') stdin.end(options.stdin ?? '');
    const stdout = collect(options.onStdout);
    const stderr = collect();
    const tty = { isTTY: options.tty === true };
    const code = await runCli(argv, {
      stdin: Object.assign(stdin, tty),
      stdout: Object.assign(stdout.stream, tty),
      stderr: Object.assign(stderr.stream, tty),
      env: { COPPICE_HOME: this.path, ...options.env },
      cwd: this.path,
      userHome: this.path,
      signal: options.signal ?? new AbortController().signal,
    });
    return { code, stdout: stdout.text(), stderr: stderr.text() };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}

function collect(tell: (soFar: string) => void = () => {}): { stream: PassThrough; text(): string } {
  const stream = new PassThrough();
  let text = '';
  stream.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
    tell(text);
  });
  return { stream, text: () => text };
}
