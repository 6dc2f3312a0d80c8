import { isObject } from '../meta/object.ts';

/** What a server says of the keys it works with: fingerprints, which tell nothing of the keys. Written on a coordination Lease that it renews. */
export interface KeyReport {
  /** The fingerprints of the keys of each sort, the one in use first. */
  readonly keys: Readonly<Record<string, readonly string[]>>;
  /** How many values in the store are sealed with another key than the one that seals; null while that is not known. */
  readonly behind: number | null;
  /** Enrolled hosts that were not told yet to trust the authorities as they are now, while these change. */
  readonly hostsBehind: readonly string[];
  /** When the last token ends that an older key of service accounts signed, as RFC 3339; null when there is none. */
  readonly lastOldToken: string | null;
}

export const KEY_REPORT_NAMESPACE = 'coppice-system';
export const KEY_REPORT_ANNOTATION = 'coppice.dev/keys';
/** On the Leases of servers that report. */
export const KEY_REPORT_LABEL = 'coppice.dev/key-report';
/** How often a report is renewed that does not change, in milliseconds. */
export const KEY_REPORT_RENEWAL_MS = 60_000;

/** The Lease of a server's report. */
export function keyReportName(serverName: string): string {
  return `keys-${serverName
    .toLowerCase()
    .replace(/[^a-z0-9.-]/g, '-')
    .replace(/^[^a-z0-9]+|[^a-z0-9]+$/g, '')}`;
}

/** What a Lease's annotation says. Whoever may write Leases may write anything there: what is no report says nothing. */
export function parseKeyReport(annotation: string | undefined): Partial<KeyReport> {
  try {
    const report: unknown = JSON.parse(annotation ?? '{}');
    return isObject(report) && areKeys(report.keys) ? report : {};
  } catch {
    return {};
  }
}

function areKeys(keys: unknown): boolean {
  return (
    isObject(keys) &&
    Object.values(keys).every((ids) => Array.isArray(ids) && ids.every((id) => typeof id === 'string'))
  );
}
