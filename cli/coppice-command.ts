import { Command } from '@oclif/core/command';
import * as Flags from '@oclif/core/flags';
import { CliConfig } from './cli-config.ts';
import { usage } from './failure.ts';
import type { Io } from './io.ts';

/** Which server, as whom, and which namespace. */
export interface Target {
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  readonly namespace: string | undefined;
}

export const targetFlags = {
  kubeconfig: Flags.string({ description: 'kubeconfig file to use', helpValue: 'FILE' }),
  context: Flags.string({ description: 'context of the kubeconfig to use', helpValue: 'NAME' }),
  namespace: Flags.string({ char: 'n', description: 'namespace (a tenant lives in the one of its name)' }),
};

export const outputFlag = {
  output: Flags.string({
    char: 'o',
    description: 'form of the output; table on a terminal, json when piped',
    options: ['table', 'wide', 'json', 'yaml', 'name'],
  }),
};

/**
 * What every command shares. Commands only declare flags and call one action. They declare no positional arguments to oclif, which would
 * read missing ones from stdin and sort those it has; `words` gives them in their order.
 */
export abstract class CoppiceCommand extends Command {
  protected get io(): Io {
    if (!(this.config instanceof CliConfig)) throw new Error('commands run under the CLI configuration only');
    return this.config.io;
  }
}

/** Positional arguments in the order they were written. */
export function words(raw: readonly { readonly type: string; readonly input: string }[]): string[] {
  return raw.filter((token) => token.type === 'arg').map((token) => token.input);
}

/** Throws a usage `Failure` when there are any. */
export function refuseWords(raw: Parameters<typeof words>[0], command: string): void {
  const [extra] = words(raw);
  if (extra !== undefined) throw usage(`${command} takes no argument, but got "${extra}"`, command);
}

export function targetOf(flags: { [flag in keyof Target]?: string | undefined }): Target {
  return { kubeconfig: flags.kubeconfig, context: flags.context, namespace: flags.namespace };
}
