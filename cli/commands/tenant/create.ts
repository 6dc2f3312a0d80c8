import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, targetFlags, targetOf, words } from '../../coppice-command.ts';

export default class TenantCreate extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Make a tenant: a team with a namespace of its name.';
  static override description = 'A limit that is not given is that of the policy, or none.';
  static override usage = 'tenant create NAME [--max-leased-hosts N] [--max-vms N] …';
  static override examples = ['coppice tenant create acme --max-leased-hosts 2 --max-vms 20 --max-memory 96Gi'];
  static override flags = {
    kubeconfig: targetFlags.kubeconfig,
    context: targetFlags.context,
    'display-name': Flags.string({ description: 'what people call the team', helpValue: 'TEXT' }),
    'host-group': Flags.string({ description: 'the group of hosts its VMs are placed in', helpValue: 'GROUP' }),
    'max-vms': Flags.integer({ description: 'VMs', min: 0, helpValue: 'N' }),
    'max-vcpus': Flags.integer({ description: 'vCPUs of running VMs', min: 0, helpValue: 'N' }),
    'max-memory': Flags.string({ description: 'memory of running VMs', helpValue: '96Gi' }),
    'max-leased-hosts': Flags.integer({ description: 'leased hosts', min: 0, helpValue: 'N' }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(TenantCreate);
    const { createTenant } = await import('../../actions/tenant-create.ts');
    await createTenant(this.io, targetOf(flags), {
      words: words(raw),
      displayName: flags['display-name'],
      hostGroup: flags['host-group'],
      maxVMs: flags['max-vms'],
      maxVCPUs: flags['max-vcpus'],
      maxMemory: flags['max-memory'],
      maxLeasedHosts: flags['max-leased-hosts'],
    });
  }
}
