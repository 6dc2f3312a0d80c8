/** Messages of k8s.io/apimachinery/pkg/apis/meta/v1 and pkg/runtime, as tables (`message-table.ts`). */
export const META_MESSAGES = {
  Unknown: `
    1 typeMeta TypeMeta
    2 raw raw
    3 contentEncoding string
    4 contentType string`,
  TypeMeta: `
    1 apiVersion string
    2 kind string`,
  Time: `
    1 seconds int64?
    2 nanos int32?`,
  MicroTime: `
    1 seconds int64?
    2 nanos int32?`,
  FieldsV1: '1 raw json?',
  ObjectMeta: `
    1 name string
    2 generateName string
    3 namespace string
    4 selfLink string
    5 uid string
    6 resourceVersion string
    7 generation int64
    8 creationTimestamp Time
    9 deletionTimestamp Time?
    10 deletionGracePeriodSeconds int64?
    11 labels {string}
    12 annotations {string}
    13 ownerReferences [OwnerReference]
    14 finalizers [string]
    17 managedFields [ManagedFieldsEntry]`,
  OwnerReference: `
    1 kind string!
    3 name string!
    4 uid string!
    5 apiVersion string!
    6 controller bool?
    7 blockOwnerDeletion bool?`,
  ManagedFieldsEntry: `
    1 manager string
    2 operation string
    3 apiVersion string
    4 time Time?
    6 fieldsType string
    7 fieldsV1 FieldsV1?
    8 subresource string`,
  DeleteOptions: `
    1 gracePeriodSeconds int64?
    2 preconditions Preconditions?
    3 orphanDependents bool?
    4 propagationPolicy string?
    5 dryRun [string]
    6 ignoreStoreReadErrorWithClusterBreakingPotential bool?`,
  Preconditions: `
    1 uid string?
    2 resourceVersion string?`,
  SelectorRequirement: `
    1 key string!
    2 operator string!
    3 values [string]`,
} as const;
