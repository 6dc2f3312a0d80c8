import type { Answerer } from '../verbs/answer.ts';
import { instantOf } from '../verbs/next-object.ts';
import { userInfoOf } from './user-info.ts';

/** Who am I? Whom somebody is impersonated as, where that is so. */
export const selfSubjectReview: Answerer = ({ kind, apiVersion }, { parts, identity }) => ({
  kind,
  apiVersion,
  metadata: { creationTimestamp: instantOf(parts) },
  status: { userInfo: userInfoOf(identity) },
});
