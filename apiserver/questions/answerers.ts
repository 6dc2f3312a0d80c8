import type { BearerTokens } from '../auth/bearer-tokens.ts';
import type { ServiceAccountTokens } from '../auth/service-account-tokens.ts';
import type { TenantTokens } from '../auth/tenant-tokens.ts';
import type { HostEnrollment } from '../enrollment/host-enrollment.ts';
import type { ServerJoining } from '../joining/server-joining.ts';
import type { Answerers } from '../verbs/answer.ts';
import { localSubjectAccessReview, selfSubjectAccessReview, subjectAccessReview } from './access-reviews.ts';
import { selfSubjectReview } from './self-subject-review.ts';
import { selfSubjectRulesReview } from './self-subject-rules-review.ts';
import { tenantToken } from './tenant-token.ts';
import { tokenRequest } from './token-request.ts';
import { tokenReview } from './token-review.ts';

interface Deps {
  readonly bearerTokens: BearerTokens;
  readonly serviceAccounts: ServiceAccountTokens;
  readonly tenants: TenantTokens;
  readonly hosts: HostEnrollment;
  readonly joining: ServerJoining;
}

/** Who answers which question. */
export function answerersOf({ bearerTokens, serviceAccounts, tenants, hosts, joining }: Deps): Answerers {
  return {
    'authentication.k8s.io/selfsubjectreviews': selfSubjectReview,
    'authentication.k8s.io/tokenreviews': tokenReview(bearerTokens),
    'authorization.k8s.io/selfsubjectaccessreviews': selfSubjectAccessReview,
    'authorization.k8s.io/selfsubjectrulesreviews': selfSubjectRulesReview,
    'authorization.k8s.io/subjectaccessreviews': subjectAccessReview,
    'authorization.k8s.io/localsubjectaccessreviews': localSubjectAccessReview,
    'core/serviceaccounts/token': tokenRequest(serviceAccounts),
    'coppice.dev/tenants/token': tenantToken(tenants),
    'coppice.dev/hosts/token': hosts.token,
    'coppice.dev/hosts/certificate': hosts.certificate,
    'coppice.dev/hosts/controlplane': hosts.controlPlane,
    'coppice.dev/policies/jointoken': joining.token,
    'coppice.dev/policies/join': joining.join,
  };
}
