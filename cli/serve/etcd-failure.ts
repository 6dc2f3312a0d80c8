import type { StoreError } from '../../apiserver/store/store.ts';
import { Failure } from '../failure.ts';
import type { StoreOptions } from './store-options.ts';

type EtcdOptions = Extract<StoreOptions, { readonly kind: 'etcd' }>;

/** What stands in gRPC's and etcd's own texts, what it means, and what to try. The first that is found counts. */
const MEANINGS: readonly (readonly [text: RegExp, said: (options: EtcdOptions) => string, hint: string])[] = [
  [
    /authentication failed|user name is empty|invalid auth token/,
    ({ auth }) => (auth === undefined ? 'etcd wants a user' : `etcd refuses user ${auth.username} or its password`),
    'give --etcd-user, and its password in $COPPICE_ETCD_PASSWORD',
  ],
  [
    /authentication is not enabled/,
    () => 'etcd has no users, but --etcd-user was given',
    'leave it out, or turn authentication on: etcdctl auth enable',
  ],
  [
    /permission denied/,
    ({ auth, root }) => `etcd lets user ${auth?.username ?? 'nobody'} do too little under ${root}/`,
    'the role of that user needs readwrite on the whole prefix',
  ],
  [
    /certificate|self-signed|alert|SSL|altname/i,
    ({ endpoints }) => `etcd at ${endpoints.join(', ')} and this server do not trust each other’s certificates`,
    'look at --etcd-ca, --etcd-cert and --etcd-key',
  ],
  [
    /ENOTFOUND|EAI_AGAIN|Name resolution/,
    ({ endpoints }) => away(endpoints, 'there is no such name'),
    'look at --etcd',
  ],
  [/ECONNREFUSED/, ({ endpoints }) => away(endpoints, 'connection refused'), 'start it there, or look at --etcd'],
];

/** Why etcd could not be used at the start, without the words of its libraries. */
export function etcdFailure(error: StoreError, options: EtcdOptions): Failure {
  const [, said, hint] = MEANINGS.find(([text]) => text.test(detailsOf(error))) ?? [
    undefined,
    (given: EtcdOptions) => away(given.endpoints, 'no answer within ten seconds'),
    'look at --etcd, and whether it speaks TLS (then --etcd-ca is needed)',
  ];
  return new Failure(said(options), { hint, cause: error });
}

/** The store's own words leave out what its libraries said. */
const detailsOf = ({ message, cause }: StoreError) => (cause instanceof Error ? cause.message : message);

const away = (endpoints: readonly string[], why: string) => `etcd does not answer at ${endpoints.join(', ')}: ${why}`;
