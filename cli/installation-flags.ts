import * as Flags from '@oclif/core/flags';

/** Which installation a command works on, and where its keys are. `coppiceHome` reads the first. */
export const installationFlags = {
  home: Flags.string({
    description: 'folder of the installation; $COPPICE_HOME, else ~/.coppice',
    helpValue: 'FOLDER',
  }),
  pki: Flags.string({
    description: 'folder of keys and certificates, shared by the API servers of one store; by default pki in the home',
    helpValue: 'FOLDER',
  }),
};

/** Of commands that serve the API. */
export const portFlag = Flags.integer({
  description: 'port of the API; 0 takes any free one; $COPPICE_PORT, else 7799',
  min: 0,
  max: 65535,
});
