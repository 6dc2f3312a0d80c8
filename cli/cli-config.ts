import { Config } from '@oclif/core/config';
import type { Io } from './io.ts';

/** The configuration oclif hands to every command, with the world it runs in. */
export class CliConfig extends Config {
  readonly io: Io;

  constructor(options: ConstructorParameters<typeof Config>[0], io: Io) {
    super(options);
    this.io = io;
  }
}
