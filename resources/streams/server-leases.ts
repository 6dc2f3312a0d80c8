/**
 * Each API server of a fleet has a coordination Lease beside those of the hosts: where others reach it is an annotation, `holderIdentity` is its name and
 * the id of its home. It is renewed while the server runs and removed when it ends in order.
 */
export const serverLeaseName = (server: string): string => `apiserver-${server}`;
export const SERVER_LEASE_RENEWAL_MS = 10_000;
/** Unrenewed for this long, the server is not counted on any more. */
export const SERVER_LEASE_SECONDS = 30;

/** The label that tells these Leases from others. */
export const COMPONENT_LABEL = 'coppice.dev/component';
export const APISERVER_COMPONENT = 'apiserver';
/** The origin of the server, such as `https://10.0.0.5:7799`. */
export const ADDRESS_ANNOTATION = 'coppice.dev/address';
