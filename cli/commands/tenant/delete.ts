import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, targetFlags, targetOf, words } from '../../coppice-command.ts';

export default class TenantDelete extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Delete a tenant with all it has.';
  static override description =
    'Its VMs go at once, and its leases end as soon as their minimum is over; it waits for them, and says so. By force they end now and are billed to their minimum all the same. Asks first on a terminal; elsewhere it needs -y.';
  static override usage = 'tenant delete NAME [--force] [-y]';
  static override examples = ['coppice tenant delete acme -y', 'coppice tenant delete acme --force -y --timeout 5m'];
  static override flags = {
    kubeconfig: targetFlags.kubeconfig,
    context: targetFlags.context,
    force: Flags.boolean({ default: false, description: 'end its leases now, whatever their minimum' }),
    yes: Flags.boolean({ default: false, char: 'y', description: 'do not ask' }),
    wait: Flags.boolean({ description: 'wait until it is gone', default: true, allowNo: true }),
    timeout: Flags.string({ description: 'how long to wait', default: '60s' }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(TenantDelete);
    const { deleteTenant } = await import('../../actions/tenant-delete.ts');
    const { force, yes, wait, timeout } = flags;
    await deleteTenant(this.io, targetOf(flags), { words: words(raw), force, yes, wait, timeout });
  }
}
