import type { Readable, Writable } from 'node:stream';

export interface InputStream extends Readable {
  readonly isTTY?: boolean;
  setRawMode?(raw: boolean): unknown;
}

export interface OutputStream extends Writable {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}

/** The world outside a command, handed in: streams, environment, folder and Ctrl-C. */
export interface Io {
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Relative paths start here. */
  readonly cwd: string;
  /** The user's own folder, where `~/.kube` and `~/.coppice` are. */
  readonly userHome: string;
  /** Aborts with the first Ctrl-C. */
  readonly signal: AbortSignal;
}

export function printLine(io: Io, line: string): void {
  io.stdout.write(`${line}\n`);
}

export function warn(io: Io, line: string): void {
  io.stderr.write(`${line}\n`);
}

/** The folder of one installation: `--home`, `$COPPICE_HOME`, else `~/.coppice`. */
export function coppiceHome(io: Io, flag?: string): string {
  return flag ?? (io.env.COPPICE_HOME || `${io.userHome}/.coppice`);
}
