import { Help } from '@oclif/core/help';
import type { CliConfig } from './cli-config.ts';
import type { Io } from './io.ts';

/** oclif's help, written to the streams the CLI was handed. */
export class CliHelp extends Help {
  readonly #io: Io;

  constructor(config: CliConfig) {
    super(config, {});
    this.#io = config.io;
  }

  protected override log(...lines: string[]): void {
    this.#io.stdout.write(`${lines.join(' ')}\n`);
  }
}
