import type { Io } from '../io.ts';

export type Output = 'table' | 'wide' | 'json' | 'yaml' | 'name';

/** The form asked for; else a table on a terminal and JSON into a pipe or file. */
export function outputOf(io: Io, flag: string | undefined): Output {
  if (flag === 'table' || flag === 'wide' || flag === 'json' || flag === 'yaml' || flag === 'name') return flag;
  return io.stdout.isTTY === true ? 'table' : 'json';
}
