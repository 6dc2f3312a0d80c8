import { ApiError } from '../../resources/meta/api-error.ts';
import type { ServerRequest } from '../requests/server-request.ts';
import { type Access, permits, refused } from './authorize.ts';
import { ANONYMOUS, AUTHENTICATED_GROUP, type Identity, serviceAccountGroups, serviceAccountOf } from './identity.ts';

const USER = 'impersonate-user';
const GROUP = 'impersonate-group';
const UID = 'impersonate-uid';
const EXTRA = 'impersonate-extra-';

/** Whom a request wants to be made as. */
interface Wish {
  readonly user: string;
  readonly groups: readonly string[];
  readonly uid: string | undefined;
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/**
 * Whom a request is made as by its `Impersonate-*` headers; undefined when it has none. Throws `Forbidden` for each of user, groups, uid and
 * extras that the asker may not take on, and `BadRequest` for any of these without a user.
 */
export function impersonated(asker: Identity, request: ServerRequest): Identity | undefined {
  const wish = wishOf(request);
  if (wish === undefined) return undefined;
  for (const access of accessesOf(wish)) {
    if (!permits(asker, access)) throw refused(asker, access, access.namespace);
  }
  const { user, groups, uid, extra } = wish;
  return {
    user,
    groups: allGroups(user, groups),
    ...(uid === undefined ? {} : { uid }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

/** Whether a request has headers of impersonation, for anybody to allow or not. */
export function wishesImpersonation({ headers }: ServerRequest): boolean {
  return impersonationNames(headers).length > 0;
}

/** The names of those headers, of which nearly all requests have none. */
export function impersonationNames(headers: object): readonly string[] {
  let names: string[] | undefined;
  for (const name in headers) {
    if (name.startsWith('impersonate-')) names = [...(names ?? []), name];
  }
  return names ?? NO_NAMES;
}

const NO_NAMES: readonly string[] = [];

function wishOf({ headers, repeated }: ServerRequest): Wish | undefined {
  const names = impersonationNames(headers);
  if (names.length === 0) return undefined;
  const lines = (name: string) => repeated?.[name] ?? [headers[name] ?? []].flat();
  const user = lines(USER)[0] ?? '';
  if (user === '') {
    throw new ApiError('BadRequest', `${names.join(', ')} asked for without a user to be: ${USER} is missing`);
  }
  const extras = names.filter((name) => name.startsWith(EXTRA));
  return {
    user,
    groups: lines(GROUP),
    uid: lines(UID)[0],
    extra: Object.fromEntries(extras.map((name) => [unescaped(name.slice(EXTRA.length)), lines(name)])),
  };
}

/** Keys of extras may hold what header names may not, percent-encoded. */
function unescaped(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    // Upstream takes a key that does not decode as it stands.
    return key;
  }
}

const NOTHING = { subresource: undefined, namespace: undefined, fields: new Map<string, string>(), userKind: false };

function accessesOf({ user, groups, uid, extra }: Wish): readonly Access[] {
  const one = (group: string, plural: string, name: string, more: Partial<Access> = {}): Access => ({
    ...NOTHING,
    verb: 'impersonate',
    group,
    plural,
    name,
    ...more,
  });
  const account = serviceAccountOf(user);
  return [
    account === undefined
      ? one('', 'users', user)
      : one('', 'serviceaccounts', account.name, { namespace: account.namespace }),
    ...groups.map((group) => one('', 'groups', group)),
    ...(uid === undefined ? [] : [one('authentication.k8s.io', 'uids', uid)]),
    ...Object.entries(extra).flatMap(([subresource, values]) =>
      values.map((value) => one('authentication.k8s.io', 'userextras', value, { subresource })),
    ),
  ];
}

/** The groups asked for, those every service account has when none are, and the one that everybody is in. */
function allGroups(user: string, groups: readonly string[]): readonly string[] {
  const account = serviceAccountOf(user);
  const own = groups.length === 0 && account !== undefined ? serviceAccountGroups(account.namespace) : groups;
  if (own.includes(AUTHENTICATED_GROUP) || own.some((group) => ANONYMOUS.groups.includes(group))) return own;
  return [...own, ...(user === ANONYMOUS.user ? ANONYMOUS.groups : [AUTHENTICATED_GROUP])];
}
