import type { JsonObject } from '../../resources/meta/object.ts';
import type { Identity } from '../auth/identity.ts';

/** An identity as reviews tell it (k8s.io/api/authentication/v1 UserInfo). */
export function userInfoOf({ user, uid, groups, extra }: Identity): JsonObject {
  return {
    username: user,
    ...(uid === undefined ? {} : { uid }),
    groups,
    ...(extra === undefined ? {} : { extra }),
  };
}
