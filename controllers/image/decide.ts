import type { Host } from '../../resources/kinds/host.ts';
import type { Image } from '../../resources/kinds/image.ts';
import { type Condition, setConditions } from '../../resources/meta/condition.ts';

type Status = NonNullable<Image['status']>;

/** What one host says of an image. */
interface Finding {
  readonly host: string;
  readonly digest: string;
  readonly size: string;
}

/** What hosts say of an image, by name of host. */
export function findingsOf(image: string, hosts: Iterable<Host>): readonly Finding[] {
  const findings: Finding[] = [];
  for (const host of hosts) {
    for (const { name, digest, size } of host.status?.images ?? []) {
      if (name === image) findings.push({ host: host.metadata.name, digest, size });
    }
  }
  return findings.sort((a, b) => (a.host < b.host ? -1 : 1));
}

/**
 * What the status of an image should be. Where hosts disagree the digest on record stays (VMs were admitted with it), and without a record
 * there is none, since picking one would be a guess. Where all agree on a new one, the image was built anew and that is what it is.
 */
export function imageStatus(
  image: Image,
  findings: readonly Finding[],
  nowMs: number,
): { [K in keyof Status]: Status[K] | undefined } {
  const digests = [...new Set(findings.map((finding) => finding.digest))];
  const digest = digests.length === 1 ? digests[0] : image.status?.digest;
  const holders = findings.filter((finding) => finding.digest === digest);
  return {
    digest,
    size: holders[0]?.size ?? image.status?.size,
    holders: holders.map((finding) => finding.host),
    observedGeneration: image.metadata.generation,
    conditions: setConditions(image, nowMs, [ready(image, findings, digests, holders.length)]),
  };
}

function ready(
  image: Image,
  findings: readonly Finding[],
  digests: readonly string[],
  holders: number,
): Omit<Condition, 'lastTransitionTime'> {
  if (findings.length === 0) {
    const message = `no host has it; it is looked for in ${image.spec.source.path}`;
    return { type: 'Ready', status: 'False', reason: 'NotFound', message };
  }
  if (digests.length > 1) {
    const said = [...digests].sort().map((digest) => {
      const having = findings.filter((finding) => finding.digest === digest);
      return `${digest} on ${having[0]?.host}${having.length > 1 ? ` and ${having.length - 1} more` : ''}`;
    });
    return { type: 'Ready', status: 'False', reason: 'DigestMismatch', message: `hosts disagree: ${said.join('; ')}` };
  }
  return {
    type: 'Ready',
    status: 'True',
    reason: 'Found',
    message: `${holders} ${holders === 1 ? 'host has' : 'hosts have'} it`,
  };
}
