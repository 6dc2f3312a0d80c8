import { CoppiceCommand, targetFlags, targetOf, words } from '../../coppice-command.ts';
import { installationFlags } from '../../installation-flags.ts';

export default class ImagesBuild extends CoppiceCommand {
  static override strict = false;
  static override summary = 'Build an image on this machine and add it to the catalog.';
  static override usage = 'images build NAME';
  static override examples = ['coppice images build tiny-linux'];
  static override flags = {
    kubeconfig: targetFlags.kubeconfig,
    context: targetFlags.context,
    home: installationFlags.home,
  };

  async run(): Promise<void> {
    const { flags, raw } = await this.parse(ImagesBuild);
    const { buildImage } = await import('../../actions/images-build.ts');
    await buildImage(this.io, targetOf(flags), { words: words(raw), home: flags.home });
  }
}
