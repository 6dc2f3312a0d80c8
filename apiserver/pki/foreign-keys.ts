import type { Clock } from '../../resources/ambient/clock.ts';
import { CoordinationLease } from '../../resources/kinds/coordination-lease.ts';
import {
  KEY_REPORT_ANNOTATION,
  KEY_REPORT_LABEL,
  KEY_REPORT_NAMESPACE,
  keyReportName,
  parseKeyReport,
} from '../../resources/streams/key-report.ts';
import { ApiClient } from '../client/client.ts';
import type { Transport } from '../client/transport.ts';
import { folderKeys } from './keep-keys.ts';

/** Another server of the store works with keys of which the folder has none. */
export class ForeignKeysError extends Error {
  constructor(server: string, folder: string) {
    super(`API server ${server} serves the same store with other keys than those in ${folder}`);
    this.name = 'ForeignKeysError';
  }
}

export interface ForeignKeysDeps {
  readonly folder: string;
  readonly transport: Transport;
  readonly serverName: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Not the operator's token, which is never several for long. */
const SHARED = ['ca', 'service-account-key', 'sealing-key'];

/**
 * Refuses a folder of keys that was made beside the one of the servers that run: what one of them seals no other could read, and hosts and clients would
 * trust one of them only. While keys are changed, servers have some in common. Throws `ForeignKeysError`.
 */
export async function refuseForeignKeys({
  folder,
  transport,
  serverName,
  clock,
  signal,
}: ForeignKeysDeps): Promise<void> {
  const ours = folderKeys(folder);
  const leases = new ApiClient(transport).resource<CoordinationLease>(CoordinationLease, KEY_REPORT_NAMESPACE);
  const { items } = await leases.list({ labelSelector: KEY_REPORT_LABEL }, signal);
  for (const { metadata, spec = {} } of items) {
    const { holderIdentity, renewTime = '', leaseDurationSeconds = 0 } = spec;
    const lives = Boolean(holderIdentity) && Date.parse(renewTime) + leaseDurationSeconds * 1000 > clock.now();
    if (!lives || metadata.name === keyReportName(serverName)) continue;
    const theirs = parseKeyReport(metadata.annotations?.[KEY_REPORT_ANNOTATION]).keys ?? {};
    if (SHARED.some((what) => areStrange(ours[what], theirs[what])))
      throw new ForeignKeysError(holderIdentity ?? metadata.name, folder);
  }
}

function areStrange(ours: readonly string[] = [], theirs: readonly string[] = []): boolean {
  return ours.length > 0 && theirs.length > 0 && !ours.some((key) => theirs.includes(key));
}
