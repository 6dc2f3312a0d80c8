/**
 * Who leads which duty is told by coordination Leases: `duty-NAME` is held by a process, by the name of the Lease that this process renews while it lives.
 */
export const ELECTION_NAMESPACE = 'coppice-system';
/** The label that tells these Leases from others. */
export const ELECTION_LABEL = 'coppice.dev/election';
export const ELECTION_COMPONENT = 'controllers';
/** Selects them. */
export const ELECTION_SELECTOR = `${ELECTION_LABEL}=${ELECTION_COMPONENT}`;
export const DUTY_PREFIX = 'duty-';
export const MEMBER_PREFIX = 'controllers-';

/** The duties that every fleet needs somebody for. */
export const ALL_DUTIES = [
  'tenant',
  'host-liveness',
  'image',
  'lease',
  'leaseset',
  'scrub',
  'volume',
  'placement',
  'pool',
  'drain',
  'vm-lifecycle',
  'garbage',
] as const;
