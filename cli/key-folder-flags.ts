import * as Flags from '@oclif/core/flags';

/** Which folder of keys a command works on. */
export const keyFolderFlags = {
  home: Flags.string({
    description: 'folder of the installation; $COPPICE_HOME, else ~/.coppice',
    helpValue: 'FOLDER',
  }),
  pki: Flags.string({ description: 'its folder of keys, where that is not pki in it', helpValue: 'FOLDER' }),
};
