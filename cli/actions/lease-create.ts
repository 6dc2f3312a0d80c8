import type { Target } from '../coppice-command.ts';
import { Exit, Failure } from '../failure.ts';
import { type Io, printLine, warn } from '../io.ts';
import { LEASES, type LeaseView, leaseName } from '../lease-ref.ts';
import { conditionOf } from '../render/conditions.ts';
import { openSession } from '../session.ts';
import { Deadline, durationFlag } from '../wait/deadline.ts';
import { watchUntil } from '../wait/watch-until.ts';

interface LeaseCreateOptions {
  readonly words: readonly string[];
  readonly host: string | undefined;
  /** `KEY=VALUE,KEY=VALUE`. */
  readonly selector: string | undefined;
  readonly minVCPUs: number | undefined;
  readonly minMemory: string | undefined;
  readonly nested: boolean;
  readonly duration: string | undefined;
  readonly releasePolicy: string | undefined;
  readonly acceptTerms: string | undefined;
  readonly allowBusy: boolean;
  readonly anyHost: boolean;
  readonly wait: boolean;
  readonly timeout: string;
}

/** Makes a Lease, and waits until it has its host if that is asked for. Without a name the server makes one. */
export async function createLease(io: Io, target: Target, options: LeaseCreateOptions): Promise<void> {
  const timeoutMs = durationFlag('timeout', options.timeout);
  const metadata =
    options.words.length === 0 ? { generateName: 'lease-' } : { name: leaseName(options.words, 'lease create') };
  const spec = specOf(options);
  await using session = await openSession(io, target);
  const leases = session.client.resource<LeaseView>(LEASES, session.namespace);
  const wish = { apiVersion: 'coppice.dev/v1', kind: 'Lease', metadata, spec };
  const { name } = (await leases.create(wish, { fieldManager: 'coppice' }, io.signal)).metadata;
  printLine(io, `lease.coppice.dev/${name} created`);
  if (!options.wait) return;
  using deadline = new Deadline(io.signal, timeoutMs);
  let last: LeaseView | undefined;
  const settled = (lease: LeaseView | undefined) =>
    lease === undefined || (lease.status?.phase ?? 'Pending') !== 'Pending';
  try {
    const lease = await watchUntil(leases, name, settled, deadline.signal, (seen) => {
      last = seen;
    });
    if (lease === undefined) throw new Failure(`lease ${name} was deleted while it was waited for`);
    const { host, earliestEnd, pricePerHour, currency } = lease.status ?? {};
    printLine(io, `host ${host} is leased until ${earliestEnd} at least, for ${pricePerHour} ${currency} an hour`);
  } catch (error) {
    if (!deadline.passed) throw error;
    const why = conditionOf(last, 'Granted');
    warn(io, `error: lease ${name} has no host yet${why === undefined ? '' : `: ${why.message}`}`);
    throw new Exit(1);
  }
}

function specOf(options: LeaseCreateOptions): object {
  const { host, minVCPUs, minMemory, duration, releasePolicy, acceptTerms } = options;
  return {
    ...(host === undefined ? {} : { hostName: host }),
    ...(options.selector === undefined ? {} : { selector: { matchLabels: labelsOf(options.selector) } }),
    ...(minVCPUs === undefined ? {} : { minVCPUs }),
    ...(minMemory === undefined ? {} : { minMemory }),
    ...(options.nested ? { nested: true } : {}),
    ...(duration === undefined ? {} : { duration }),
    ...(releasePolicy === undefined ? {} : { releasePolicy }),
    ...(acceptTerms === undefined ? {} : { acceptedTerms: { version: acceptTerms } }),
    ...(options.allowBusy ? { allowBusy: true } : {}),
    ...(options.anyHost ? { anyHost: true } : {}),
  };
}

function labelsOf(text: string): Record<string, string> {
  return Object.fromEntries(
    text.split(',').map((pair) => {
      const [, key, value] = /^([^=]+)=(.*)$/.exec(pair) ?? [];
      if (key === undefined || value === undefined)
        throw new Failure(`--selector is "${text}", which is not KEY=VALUE`, {
          hint: 'a Lease from a file may have spec.selector.matchExpressions',
        });
      return [key, value];
    }),
  );
}
