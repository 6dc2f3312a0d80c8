import { CoppiceCommand, outputFlag, targetFlags, targetOf } from '../coppice-command.ts';

export default class Status extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Show the fleet on one screen: hosts, VMs, and what waits and why.';
  static override flags = { ...targetFlags, ...outputFlag };

  async run(): Promise<void> {
    const { flags } = await this.parse(Status);
    const { status } = await import('../actions/status.ts');
    await status(this.io, targetOf(flags), this.config.version, flags.output);
  }
}
