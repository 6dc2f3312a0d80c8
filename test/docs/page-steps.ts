import { spawnSync } from 'node:child_process';

/** One command of a page, as a reader would type it. It may be of several lines. */
export interface PageStep {
  readonly command: string;
  /** The line of the page it begins on, from 1. */
  readonly line: number;
  /** Started in the background, and left running until the page ends. */
  readonly background: boolean;
  /** What it says when what comes after may go on. */
  readonly until: string | undefined;
  readonly exitCode: number;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*(.*?)\s*$/;
const BACKGROUND = /(?<![&>|])&\s*(#.*)?$/;
const UNTIL = /#.*\buntil it says "([^"]+)"\s*$/;
const EXITS = /#.*\bexits (\d+)\s*$/;

/**
 * The commands in the blocks of a page that are marked `sh` and nothing else. Throws when there are none, or one is not ended: a test of it would
 * hold nothing.
 */
export function pageSteps(text: string): readonly PageStep[] {
  const steps: PageStep[] = [];
  let fence: { readonly mark: string; readonly run: boolean } | undefined;
  let pending: { readonly lines: string[]; readonly line: number } | undefined;
  for (const [index, line] of text.split('\n').entries()) {
    const [, mark = '', info = ''] = FENCE.exec(line) ?? [];
    if (fence === undefined) {
      if (mark !== '') fence = { mark, run: info === 'sh' };
      continue;
    }
    if (mark.startsWith(fence.mark) && info === '') {
      if (pending !== undefined) throw new Error(`line ${pending.line}: the command is not ended`);
      fence = undefined;
      continue;
    }
    if (!fence.run || (pending === undefined && /^\s*(#|$)/.test(line))) continue;
    pending ??= { lines: [], line: index + 1 };
    pending.lines.push(line);
    const command = pending.lines.join('\n');
    if (!isWhole(command)) continue;
    steps.push(stepOf(command, pending.line));
    pending = undefined;
  }
  if (steps.length === 0) throw new Error('the page has no block marked sh');
  return steps;
}

/** Whether a shell would not wait for more lines. */
function isWhole(command: string): boolean {
  if (command.endsWith('\\')) return false;
  const { status, stderr } = spawnSync('bash', ['-n'], { input: `${command}\n`, encoding: 'utf8' });
  // Of a document in the command that is not ended it only warns.
  return status === 0 && stderr === '';
}

function stepOf(command: string, line: number): PageStep {
  return {
    command,
    line,
    background: BACKGROUND.test(command),
    until: UNTIL.exec(command)?.[1],
    exitCode: Number(EXITS.exec(command)?.[1] ?? 0),
  };
}
