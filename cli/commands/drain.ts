import * as Flags from '@oclif/core/flags';
import { CoppiceCommand, targetFlags, targetOf, words } from '../coppice-command.ts';

export default class Drain extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Empty hosts, as far as the mode says, and wait until they are; they take nothing new.';
  static override description =
    'cordon keeps all VMs; evict-ephemeral deletes those with a ttl or the label coppice.dev/ephemeral=true; reschedule does that too, and starts VMs with reschedulable: true on another host before they end here. All others stay. Coppice uncordon ends a drain.';
  static override usage =
    'drain HOST… [--mode cordon|evict-ephemeral|reschedule] [--force] [--timeout DURATION | --no-wait]';
  static override examples = [
    'coppice drain mac-1 --mode evict-ephemeral',
    'coppice drain mac-1 --mode reschedule --timeout 10m',
  ];
  static override flags = {
    kubeconfig: targetFlags.kubeconfig,
    context: targetFlags.context,
    mode: Flags.string({
      default: 'cordon',
      description: 'what goes',
      options: ['cordon', 'evict-ephemeral', 'reschedule'],
    }),
    force: Flags.boolean({ default: false, description: 'drain leased hosts too' }),
    wait: Flags.boolean({ default: true, allowNo: true, description: 'wait until all are drained' }),
    timeout: Flags.string({ default: '60s', description: 'how long to wait, such as 15m; 0s is for ever' }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(Drain);
    const { drain } = await import('../actions/drain.ts');
    const { mode, force, wait, timeout } = flags;
    await drain(this.io, targetOf(flags), { words: words(raw), mode, force, wait, timeout });
  }
}
