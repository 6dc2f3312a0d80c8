import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, targetFlags, targetOf, words } from '../../coppice-command.ts';

export default class LeaseCreate extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Lease a whole Mac, for at least 24 hours.';
  static override description =
    'The smallest that fits is given, unless one is named. Without NAME the server makes a name.';
  static override usage = 'lease create [NAME] [FLAGS]';
  static override examples = [
    'coppice lease create ci -n acme --min-vcpus 8 --min-memory 16Gi --wait',
    'coppice lease create ci -n acme --host mac-3 --duration 72h',
  ];
  static override flags = {
    ...targetFlags,
    host: Flags.string({ description: 'this host', helpValue: 'HOST' }),
    selector: Flags.string({ char: 'l', description: 'a host with these labels', helpValue: 'KEY=VALUE' }),
    'min-vcpus': Flags.integer({ description: 'at least these for guests', min: 1, helpValue: 'N' }),
    'min-memory': Flags.string({ description: 'at least this much for guests', helpValue: '16Gi' }),
    nested: Flags.boolean({ default: false, description: 'guests must be able to run guests' }),
    duration: Flags.string({ description: 'how long, 24h at least; else until it is released', helpValue: '72h' }),
    'release-policy': Flags.string({
      description: 'what a deletion before the minimum does',
      options: ['Refuse', 'WhenAllowed'],
    }),
    'accept-terms': Flags.string({ description: 'the version of terms that is accepted', helpValue: 'VERSION' }),
    'allow-busy': Flags.boolean({ default: false, description: 'operators: the host may have VMs of the lessee' }),
    'any-host': Flags.boolean({ default: false, description: 'operators: it need not be a Mac' }),
    wait: Flags.boolean({ default: false, description: 'wait until it has its host' }),
    timeout: Flags.string({ description: 'how long to wait', default: '60s' }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(LeaseCreate);
    const { createLease } = await import('../../actions/lease-create.ts');
    await createLease(this.io, targetOf(flags), {
      words: words(raw),
      host: flags.host,
      selector: flags.selector,
      minVCPUs: flags['min-vcpus'],
      minMemory: flags['min-memory'],
      nested: flags.nested,
      duration: flags.duration,
      releasePolicy: flags['release-policy'],
      acceptTerms: flags['accept-terms'],
      allowBusy: flags['allow-busy'],
      anyHost: flags['any-host'],
      wait: flags.wait,
      timeout: flags.timeout,
    });
  }
}
