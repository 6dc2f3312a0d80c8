/** Messages of k8s.io/api/core/v1, events/v1 and coordination/v1, as tables (`message-table.ts`). */
export const CORE_MESSAGES = {
  Namespace: `
    1 metadata ObjectMeta
    2 spec NamespaceSpec
    3 status NamespaceStatus`,
  NamespaceSpec: '1 finalizers [string]',
  NamespaceStatus: `
    1 phase string
    2 conditions [NamespaceCondition]`,
  NamespaceCondition: `
    1 type string!
    2 status string!
    4 lastTransitionTime Time
    5 reason string
    6 message string`,
  ConfigMap: `
    1 metadata ObjectMeta
    2 data {string}
    3 binaryData {bytes}
    4 immutable bool?`,
  Secret: `
    1 metadata ObjectMeta
    2 data {bytes}
    3 type string
    4 stringData {string}
    5 immutable bool?`,
  ServiceAccount: `
    1 metadata ObjectMeta
    2 secrets [ObjectReference]
    3 imagePullSecrets [LocalObjectReference]
    4 automountServiceAccountToken bool?`,
  LocalObjectReference: '1 name string',
  ObjectReference: `
    1 kind string
    2 namespace string
    3 name string
    4 uid string
    5 apiVersion string
    6 resourceVersion string
    7 fieldPath string`,
  CoreEvent: `
    1 metadata ObjectMeta
    2 involvedObject ObjectReference
    3 reason string
    4 message string
    5 source EventSource
    6 firstTimestamp Time!
    7 lastTimestamp Time!
    8 count int32
    9 type string
    10 eventTime MicroTime!
    11 series CoreEventSeries?
    12 action string
    13 related ObjectReference?
    14 reportingComponent string!
    15 reportingInstance string!`,
  EventSource: `
    1 component string
    2 host string`,
  CoreEventSeries: `
    1 count int32
    2 lastObservedTime MicroTime!`,
  Event: `
    1 metadata ObjectMeta
    2 eventTime MicroTime!
    3 series EventSeries?
    4 reportingController string
    5 reportingInstance string
    6 action string
    7 reason string
    8 regarding ObjectReference
    9 related ObjectReference?
    10 note string
    11 type string
    12 deprecatedSource EventSource
    13 deprecatedFirstTimestamp Time!
    14 deprecatedLastTimestamp Time!
    15 deprecatedCount int32`,
  EventSeries: `
    1 count int32!
    2 lastObservedTime MicroTime!`,
  Lease: `
    1 metadata ObjectMeta
    2 spec LeaseSpec`,
  LeaseSpec: `
    1 holderIdentity string?
    2 leaseDurationSeconds int32?
    3 acquireTime MicroTime?
    4 renewTime MicroTime?
    5 leaseTransitions int32?
    6 strategy string?
    7 preferredHolder string?`,
} as const;
