import * as Flags from '@oclif/core/flags';

/** Flags of every command that opens a store; `storeOptions` reads them. */
export const storeFlags = {
  etcd: Flags.string({
    description: 'keep state in etcd instead of the home, its members with commas; $COPPICE_ETCD',
    helpValue: 'HOST:PORT',
  }),
  'etcd-root': Flags.string({
    description: 'what all keys in etcd begin with; coppice by default',
    helpValue: 'PREFIX',
  }),
  'etcd-quota': Flags.string({
    description: 'what etcd has as its --quota-backend-bytes, such as 8Gi; 2Gi by default',
    helpValue: 'BYTES',
  }),
  'etcd-ca': Flags.string({ description: 'PEM of the CA of etcd; makes it TLS', helpValue: 'FILE' }),
  'etcd-cert': Flags.string({ description: 'PEM of our certificate, where etcd asks for one', helpValue: 'FILE' }),
  'etcd-key': Flags.string({ description: 'PEM of the key of --etcd-cert', helpValue: 'FILE' }),
  'etcd-user': Flags.string({
    description: 'user of etcd; its password is in $COPPICE_ETCD_PASSWORD',
    helpValue: 'NAME',
  }),
};

/** Flags that name a second place for a store; `targetStoreOptions` reads them. */
export const targetStoreFlags = {
  'to-etcd': Flags.string({ description: 'the etcd to move to, its members with commas', helpValue: 'HOST:PORT' }),
  'to-etcd-root': Flags.string({
    description: 'what all keys there begin with; coppice by default',
    helpValue: 'PREFIX',
  }),
  'to-etcd-ca': Flags.string({ description: 'PEM of the CA of that etcd; makes it TLS', helpValue: 'FILE' }),
  'to-etcd-cert': Flags.string({ description: 'PEM of our certificate for it', helpValue: 'FILE' }),
  'to-etcd-key': Flags.string({ description: 'PEM of the key of --to-etcd-cert', helpValue: 'FILE' }),
  'to-etcd-user': Flags.string({
    description: 'user of that etcd; its password is in $COPPICE_TO_ETCD_PASSWORD',
    helpValue: 'NAME',
  }),
};
