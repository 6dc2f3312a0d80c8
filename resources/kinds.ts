import { LocalSubjectAccessReview, SelfSubjectAccessReview, SubjectAccessReview } from './kinds/access-reviews.ts';
import { ConfigMap } from './kinds/config-map.ts';
import { CoordinationLease } from './kinds/coordination-lease.ts';
import { CustomResourceDefinition } from './kinds/custom-resource-definition.ts';
import { Event } from './kinds/event.ts';
import { EventsEvent } from './kinds/events-event.ts';
import { Host } from './kinds/host.ts';
import { Image } from './kinds/image.ts';
import { Lease } from './kinds/lease.ts';
import { LeaseSet } from './kinds/lease-set.ts';
import { Namespace } from './kinds/namespace.ts';
import { Policy } from './kinds/policy.ts';
import { Pool } from './kinds/pool.ts';
import { PriceList } from './kinds/price-list.ts';
import { Secret } from './kinds/secret.ts';
import { SelfSubjectReview } from './kinds/self-subject-review.ts';
import { SelfSubjectRulesReview } from './kinds/self-subject-rules-review.ts';
import { Service } from './kinds/service.ts';
import { ServiceAccount } from './kinds/service-account.ts';
import { Tenant } from './kinds/tenant.ts';
import { TokenReview } from './kinds/token-review.ts';
import { VM } from './kinds/vm.ts';
import { Volume } from './kinds/volume.ts';
import type { Kind } from './meta/define-kind.ts';

/** The kinds every server has, in the order discovery lists them: ours before Kubernetes' own where names are shared. */
export const BUILT_IN_KINDS: readonly Kind[] = [
  Tenant,
  Host,
  Image,
  Policy,
  PriceList,
  Lease,
  LeaseSet,
  VM,
  Volume,
  Pool,
  Namespace,
  ConfigMap,
  Secret,
  ServiceAccount,
  Service,
  Event,
  EventsEvent,
  CoordinationLease,
  CustomResourceDefinition,
  SelfSubjectReview,
  TokenReview,
  SelfSubjectAccessReview,
  SelfSubjectRulesReview,
  SubjectAccessReview,
  LocalSubjectAccessReview,
];
