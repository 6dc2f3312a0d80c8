import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { settings } from '@oclif/core/settings';
import { verbFirst } from './argv.ts';
import { CliConfig } from './cli-config.ts';
import { explain } from './explain.ts';
import { Exit, Failure } from './failure.ts';
import { COMMANDS } from './index.ts';
import type { Io } from './io.ts';

/** What a shell says of a command that Ctrl-C ended. */
const INTERRUPTED = 130;

/** Runs one command line to its end and answers the exit code. Prints errors itself; never throws for one. */
export async function runCli(argv: readonly string[], io: Io): Promise<number> {
  try {
    const config = makeConfig(io);
    const [first, ...rest] = verbFirst(argv);
    if (first === undefined || first === '--help') await showHelp(config, []);
    else if (first === '--version') await runVerb(config, 'version', rest);
    else await runVerb(config, first, rest);
    return 0;
  } catch (error) {
    if (io.signal.aborted && !(error instanceof Exit && error.evenInterrupted)) return INTERRUPTED;
    return report(error, io);
  }
}

/** oclif's configuration, told to find the commands beside this file: in a checkout the sources, in a package what they compile to. */
function makeConfig(io: Io): CliConfig {
  settings.enableAutoTranspile = false;
  const here = new URL('.', import.meta.url);
  const inPackage = here.pathname.endsWith('/dist/cli/');
  const root = fileURLToPath(new URL(inPackage ? '../../' : '../', here));
  const pjson = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
  pjson.oclif.commands.target = inPackage ? './dist/cli/index.js' : './cli/index.ts';
  return new CliConfig({ root, pjson }, io);
}

/** Runs a command without oclif's own frame around it, which would load its configuration again and print errors itself. */
async function runVerb(config: CliConfig, first: string, rest: string[]): Promise<void> {
  const two = `${first}:${rest[0] ?? ''}`;
  const id = isVerb(two) ? two : first;
  const args = id === two ? rest.slice(1) : rest;
  if (!isVerb(id)) {
    if (Object.keys(COMMANDS).some((verb) => verb.startsWith(`${id}:`))) return showHelp(config, [id]);
    throw new Failure(`there is no command "${first}"`, { hint: 'coppice --help lists the commands' });
  }
  const end = args.indexOf('--');
  if (args.slice(0, end < 0 ? args.length : end).includes('--help')) return showHelp(config, [id]);
  await new COMMANDS[id](args, config).run();
}

function isVerb(id: string): id is keyof typeof COMMANDS {
  return Object.hasOwn(COMMANDS, id);
}

async function showHelp(config: CliConfig, argv: string[]): Promise<void> {
  await config.load();
  const { CliHelp } = await import('./cli-help.ts');
  await new CliHelp(config).showHelp(argv);
}

function report(error: unknown, io: Io): number {
  const explained = explain(error);
  if (explained === undefined) return error instanceof Error && 'exitCode' in error ? Number(error.exitCode) : 1;
  io.stderr.write(`error: ${explained.message}\n`);
  for (const line of explained.details) io.stderr.write(`  * ${line}\n`);
  if (explained.hint !== undefined) io.stderr.write(`hint: ${explained.hint}\n`);
  if (io.env.COPPICE_DEBUG && error instanceof Error) io.stderr.write(`${error.stack}\n`);
  return explained.exitCode;
}
