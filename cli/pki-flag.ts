import * as Flags from '@oclif/core/flags';

export const pkiFlag = Flags.string({
  description: 'folder of keys and certificates, shared by the API servers of one store; by default pki in the home',
  helpValue: 'FOLDER',
});
