/** What the keys begin with of tokens that new API servers get the keys of the fleet by. */
export const JOIN_TOKENS = 'join/tokens/';
/** The same of tokens that nodelets get a certificate by. */
export const ENROLLMENT_TOKENS = 'enrollment/tokens/';
/** The same of tokens of tenants' owners. */
export const TENANT_TOKENS = 'tenants/tokens/';
