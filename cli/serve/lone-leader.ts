import { OPERATOR } from '../../apiserver/auth/identity.ts';
import { ApiClient } from '../../apiserver/client/client.ts';
import type { ApiServer } from '../../apiserver/server.ts';
import { LONE_MEMBER } from '../../controllers/runtime/election/lease-records.ts';
import { orGone } from '../../controllers/runtime/write.ts';
import { CoordinationLease } from '../../resources/kinds/coordination-lease.ts';
import { ELECTION_NAMESPACE } from '../../resources/streams/election-leases.ts';

/** Nobody leads for ever but an `up` that has the store to itself: what one left there is taken away by whoever serves the store otherwise. */
export async function forgetLoneLeader(server: ApiServer): Promise<void> {
  const leases = new ApiClient(server.transportFor(OPERATOR)).resource<CoordinationLease>(
    CoordinationLease,
    ELECTION_NAMESPACE,
  );
  await orGone(leases.delete(LONE_MEMBER));
}
