import { Config } from '@oclif/core/config';
import type { Io } from './io.ts';

type ConfigOptions = ConstructorParameters<typeof Config>[0];

interface CliConfigOptions extends ConfigOptions {
  readonly pjson: NonNullable<ConfigOptions['pjson']>;
}

/**
 * The configuration oclif hands to every command, with the world it runs in. As made it knows who we are, which is all that running a command
 * takes. `load` also reads every command, the theme and the shell: that takes longer than most commands, and only help needs it.
 */
export class CliConfig extends Config {
  readonly io: Io;

  constructor(options: CliConfigOptions, io: Io) {
    super(options);
    this.io = io;
    this.version = options.pjson.version;
    this.bin = 'coppice';
  }

  /** There are no plugins, so nothing is hooked. */
  override async runHook(): Promise<{ failures: []; successes: [] }> {
    return { failures: [], successes: [] };
  }
}
