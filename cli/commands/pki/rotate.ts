import * as Flags from '@oclif/core/flags';
import { systemClock } from '../../../resources/ambient/system-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { parseDuration } from '../../../resources/meta/duration.ts';
import { CoppiceCommand, targetFlags, words } from '../../coppice-command.ts';
import { Failure } from '../../failure.ts';
import { installationFlags } from '../../installation-flags.ts';

export default class PkiRotate extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Change keys of an installation while it runs.';
  static override description =
    'The next key is added first, then every server trusts it, and only then is it used. --finish drops the old one. Stopped in between, the same command goes on.';
  static override usage = 'pki rotate WHAT…  where WHAT is ca, service-account-key, sealing-key or operator-token';
  static override examples = [
    'coppice pki rotate ca',
    'coppice pki rotate ca --finish',
    'coppice pki rotate operator-token',
  ];
  static override flags = {
    ...installationFlags,
    kubeconfig: targetFlags.kubeconfig,
    finish: Flags.boolean({ default: false, description: 'drop the old one, when nothing needs it any more' }),
    force: Flags.boolean({
      default: false,
      description:
        'go on although certificates or tokens of the old one are in use, or hosts do not know of the new one',
    }),
    'trust-only': Flags.boolean({ default: false, description: 'have the next one trusted, and do not use it yet' }),
    'keep-old': Flags.string({
      description: 'how long the old operator token is still accepted',
      helpValue: 'DURATION',
    }),
    offline: Flags.boolean({ default: false, description: 'no server runs, so none is waited for' }),
    timeout: Flags.string({
      description: 'how long each step waits for servers and hosts before it names those it waits for and stops',
      default: '3m',
      helpValue: 'DURATION',
    }),
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(PkiRotate);
    const { rotate } = await import('../../serve/keys/rotate.ts');
    const options = {
      home: flags.home,
      pki: flags.pki,
      what: words(raw),
      finish: flags.finish,
      force: flags.force,
      offline: flags.offline,
      trustOnly: flags['trust-only'],
      keepOldMs: flags['keep-old'] === undefined ? undefined : durationOf('keep-old', flags['keep-old']),
      timeoutMs: durationOf('timeout', flags.timeout),
      kubeconfig: flags.kubeconfig,
    };
    await rotate(this.io, options, { clock: systemClock, ids: systemIds });
  }
}

function durationOf(flag: string, text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new Failure(`--${flag} is "${text}", which is not a duration such as 10m or 1h30m`);
  return ms;
}
