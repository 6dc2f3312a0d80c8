import { type Clock, microTime, rfc3339 } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import { CoordinationLease } from '../../resources/kinds/coordination-lease.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import {
  KEY_REPORT_ANNOTATION,
  KEY_REPORT_LABEL,
  KEY_REPORT_NAMESPACE,
  KEY_REPORT_RENEWAL_MS,
  type KeyReport,
  keyReportName,
} from '../../resources/streams/key-report.ts';
import { ApiClient } from '../client/client.ts';
import type { Transport } from '../client/transport.ts';
import { folderMark } from './folder-mark.ts';
import { KEY_FILES, ROTATABLE, readKeyFile } from './key-files.ts';
import type { Pki } from './pki-files.ts';
import type { RunningKeys, ServerKeys } from './running-keys.ts';

interface KeepKeysDeps {
  readonly folder: string;
  readonly pki: Pki;
  readonly keys: RunningKeys;
  /** Serves the leaf and trusts the authorities that the folder has now. */
  renewTls(): Promise<void>;
  readonly transport: Transport;
  readonly serverName: string;
  readonly clock: Clock;
  readonly log: Logger;
}

const LOOK_MS = 1_000;
/** Of hosts in a report. */
const MOST_NAMES = 20;
/** A report that ends with its server may take this long. */
const LAST_WORDS_MS = 2_000;
/** A server is taken for gone when it has not renewed its report for as long. */
const REPORT_LIFE_S = (KEY_REPORT_RENEWAL_MS / 1000) * 2.5;

/** What the folder has for a server to work with. Throws `BadKeyFileError`. */
export function serverKeysIn(pki: Pki): ServerKeys {
  return {
    operatorTokens: pki.operatorTokens(),
    serviceAccountKey: pki.serviceAccountKey(),
    sealingKeys: pki.sealingKeys(),
  };
}

/**
 * Looks at the folder every second, works with what changed there, and tells on a coordination Lease what it works with. A folder that holds something
 * else than keys changes nothing, and is looked at again. Until the signal aborts.
 */
export async function keepKeys(deps: KeepKeysDeps, signal: AbortSignal): Promise<void> {
  const { folder, clock, log } = deps;
  const reporter = new Reporter(deps);
  const takingOver = sayingOnce(log, 'keys not taken over', signal);
  const telling = sayingOnce(log, 'not told which keys are in use', signal);
  let used = '';
  let told: Promise<void> | undefined;
  try {
    while (!signal.aborted) {
      await takingOver(async () => {
        const mark = folderMark(folder);
        if (mark === used) return;
        reporter.worksWith(await workWith(deps));
        if (used !== '') log.info('works with the keys that are in its folder now', { folder });
        used = mark;
      });
      // A store that is out of reach does not keep a server from taking keys over.
      told ??= telling(() => reporter.report(signal)).finally(() => {
        told = undefined;
      });
      await clock.sleep(LOOK_MS, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await told;
    await Promise.race([reporter.end(), clock.sleep(LAST_WORDS_MS)]);
  }
}

/** Runs work and says why it failed, if that is another reason than the last time. */
function sayingOnce(log: Logger, message: string, signal: AbortSignal): (work: () => Promise<void>) => Promise<void> {
  let said = '';
  return async (work) => {
    try {
      await work();
      said = '';
    } catch (error) {
      const why = String(error);
      if (!signal.aborted && why !== said) log.error(message, { error: why });
      said = why;
    }
  };
}

type Fingerprints = KeyReport['keys'];

/** All is read before anything is changed: a folder that is half written is not worked with at all. */
async function workWith({ folder, pki, keys, renewTls }: KeepKeysDeps): Promise<Fingerprints> {
  const read = serverKeysIn(pki);
  const fingerprints = folderKeys(folder);
  pki.refresh();
  keys.use(read);
  await renewTls();
  return fingerprints;
}

/** What the keys in a folder are known by, the one in use first. Throws `BadKeyFileError`. */
export function folderKeys(folder: string): Fingerprints {
  return Object.fromEntries(
    ROTATABLE.map((what) => {
      const entries = readKeyFile(folder, what) ?? [];
      return [what, entries.map(({ text }) => KEY_FILES[what].fingerprint(text))];
    }),
  );
}

/** Writes a server's report when it changes, and once a minute. */
class Reporter {
  readonly #deps: KeepKeysDeps;
  #keys: Fingerprints = {};
  #written = '';
  #writtenAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: KeepKeysDeps) {
    this.#deps = deps;
  }

  worksWith(keys: Fingerprints): void {
    this.#keys = keys;
  }

  async report(signal: AbortSignal): Promise<void> {
    const { keys, pki, clock } = this.#deps;
    const changing = (this.#keys.ca ?? []).length > 1;
    const hostsBehind = changing ? await keys.hostsBehind(pki.caCert, signal) : [];
    const old = (this.#keys['service-account-key'] ?? []).slice(1);
    const ends = await Promise.all(old.map((id) => keys.lastToken(id, signal)));
    const lastMs = Math.max(0, ...ends);
    const report: KeyReport = {
      keys: this.#keys,
      behind: keys.behind ?? null,
      hostsBehind: hostsBehind.slice(0, MOST_NAMES),
      lastOldToken: lastMs === 0 ? null : rfc3339(lastMs),
    };
    const text = JSON.stringify(report);
    if (text === this.#written && clock.monotonic() - this.#writtenAtMs < KEY_REPORT_RENEWAL_MS) return;
    const atMs = clock.monotonic();
    await this.#write(this.#deps.serverName, text, signal);
    this.#written = text;
    this.#writtenAtMs = atMs;
  }

  /** Says that the server works with no keys any more: nobody needs to wait for it. */
  async end(): Promise<void> {
    if (this.#written === '') return;
    // The store may be gone by now; then the report ends when it is not renewed.
    await this.#write(null, this.#written, undefined).catch(() => {});
  }

  async #write(holder: string | null, text: string, signal: AbortSignal | undefined): Promise<void> {
    const { transport, serverName, clock } = this.#deps;
    const leases = new ApiClient(transport).resource<CoordinationLease>(CoordinationLease, KEY_REPORT_NAMESPACE);
    const renewTime = microTime(clock.now());
    const spec = { holderIdentity: holder, leaseDurationSeconds: REPORT_LIFE_S, renewTime };
    const metadata = { labels: { [KEY_REPORT_LABEL]: '' }, annotations: { [KEY_REPORT_ANNOTATION]: text } };
    const name = keyReportName(serverName);
    try {
      await leases.patch(name, { metadata, spec }, {}, signal);
    } catch (error) {
      if (!(error instanceof ApiError) || error.reason !== 'NotFound' || holder === null) throw error;
      const lease = { ...spec, holderIdentity: holder };
      const object = {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name, ...metadata },
        spec: lease,
      };
      await leases.create(object, {}, signal);
    }
  }
}
