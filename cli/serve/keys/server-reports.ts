import { readFileSync } from 'node:fs';
import { ApiClient } from '../../../apiserver/client/client.ts';
import { HttpsTransport } from '../../../apiserver/client/https-transport.ts';
import { UnreachableError } from '../../../apiserver/client/unreachable-error.ts';
import { readAuthorities } from '../../../apiserver/pki/authority-files.ts';
import type { Clock } from '../../../resources/ambient/clock.ts';
import type { CoordinationLease } from '../../../resources/kinds/coordination-lease.ts';
import { CoordinationLease as LEASES } from '../../../resources/kinds/coordination-lease.ts';
import { ApiError } from '../../../resources/meta/api-error.ts';
import { humanDuration } from '../../../resources/meta/duration.ts';
import {
  KEY_REPORT_ANNOTATION,
  KEY_REPORT_LABEL,
  KEY_REPORT_NAMESPACE,
  type KeyReport,
  parseKeyReport,
} from '../../../resources/streams/key-report.ts';
import { Failure } from '../../failure.ts';
import type { Io } from '../../io.ts';
import { connectionOf } from '../../kubeconfig/connection.ts';
import { loadKubeconfig } from '../../kubeconfig/kubeconfig.ts';
import { WaitingLine } from './waiting-line.ts';

/** What a server that runs says of the keys it works with. */
export interface ServerReport extends KeyReport {
  readonly server: string;
  /** When it said so last, in milliseconds since 1970. */
  readonly heardAtMs: number;
}

export interface ReportsDeps {
  readonly io: Io;
  readonly clock: Clock;
  /** The folder of keys: its authorities are trusted, whatever the kubeconfig says. */
  readonly folder: string;
  readonly kubeconfig: string | undefined;
}

const LOOK_MS = 500;

/** The reports of all servers that run. Throws `UnreachableError` where none answers. */
export async function serverReports({ io, clock, folder, kubeconfig }: ReportsDeps): Promise<readonly ServerReport[]> {
  const config = await loadKubeconfig(io, kubeconfig);
  const { connection } = await connectionOf(config, undefined);
  const ca = readAuthorities(folder)?.bundle;
  await using transport = new HttpsTransport({ ...connection, ...(ca === undefined ? {} : { ca }) });
  const leases = new ApiClient(transport.send).resource<CoordinationLease>(LEASES, KEY_REPORT_NAMESPACE);
  const { items } = await leases.list({ labelSelector: KEY_REPORT_LABEL }, io.signal);
  return items.filter((lease) => isLive(lease, clock.now())).map(reportIn);
}

/** Waits until every server that runs says what is wanted. Answers their names. Throws a `Failure` that names those that do not, after `timeoutMs`. */
export async function awaitServers(
  deps: ReportsDeps,
  wanted: { readonly what: string; readonly timeoutMs: number; holds(report: ServerReport): boolean },
): Promise<readonly string[]> {
  const { clock, io } = deps;
  const deadlineMs = clock.monotonic() + wanted.timeoutMs;
  const waiting = new WaitingLine(deps);
  for (;;) {
    const reports = await serverReports(deps).catch((error: unknown) => {
      // A token or an authority that was changed a moment ago is known to a server a moment later.
      if (isPassing(error) && clock.monotonic() < deadlineMs) return undefined;
      throw error;
    });
    const behind = reports?.filter((report) => !wanted.holds(report)) ?? [];
    if (reports !== undefined && reports.length > 0 && behind.length === 0) return reports.map(({ server }) => server);
    if (clock.monotonic() >= deadlineMs) throw notYet(wanted.what, reports ?? [], behind, deps.folder);
    const names = behind.map(({ server }) => server);
    waiting.tell(
      names,
      names.length === 0 ? 'a server that says which keys it works with' : serversSaid(behind, clock.now()),
    );
    await clock.sleep(LOOK_MS, io.signal);
  }
}

function serversSaid(reports: readonly ServerReport[], nowMs: number): string {
  const each = reports.map(({ server, heardAtMs }) => `${server} (last heard ${humanDuration(nowMs - heardAtMs)} ago)`);
  return `server${each.length === 1 ? '' : 's'} ${each.join(', ')}`;
}

function notYet(
  what: string,
  reports: readonly ServerReport[],
  behind: readonly ServerReport[],
  folder: string,
): Failure {
  const hint = `where a server has a copy of ${folder}, bring it up to date there with coppice apiserver join --again; then run this again, which goes on from here`;
  if (reports.length === 0) return new Failure('no server says which keys it works with', { hint });
  return new Failure(`${behind.map(({ server }) => server).join(', ')} ${what}`, { hint });
}

function isPassing(error: unknown): boolean {
  if (error instanceof ApiError) return error.reason === 'Unauthorized' || error.code >= 500;
  return error instanceof UnreachableError && error.reason !== 'refused' && error.reason !== 'unknown-host';
}

function isLive({ spec = {} }: CoordinationLease, nowMs: number): boolean {
  const { holderIdentity, renewTime = '', leaseDurationSeconds = 0 } = spec;
  return Boolean(holderIdentity) && Date.parse(renewTime) + leaseDurationSeconds * 1000 > nowMs;
}

function reportIn({ metadata, spec }: CoordinationLease): ServerReport {
  const report = parseKeyReport(metadata.annotations?.[KEY_REPORT_ANNOTATION]);
  const { keys = {}, behind = null, hostsBehind = [], lastOldToken = null } = report;
  const heardAtMs = Date.parse(spec?.renewTime ?? '');
  return { server: spec?.holderIdentity ?? metadata.name, heardAtMs, keys, behind, hostsBehind, lastOldToken };
}

/** The kubeconfig of the home where there is one, else the one that is used anyway. */
export function kubeconfigFor(home: { readonly kubeconfig: string }, flag: string | undefined): string | undefined {
  if (flag !== undefined) return flag;
  try {
    readFileSync(home.kubeconfig);
    return home.kubeconfig;
  } catch {
    return undefined;
  }
}

/** Waits until every enrolled host was told of the authorities as they are now. Throws a `Failure` that names those that were not, after `timeoutMs`. */
export async function awaitHosts(deps: ReportsDeps, timeoutMs: number): Promise<void> {
  const { clock, io } = deps;
  const deadlineMs = clock.monotonic() + timeoutMs;
  const waiting = new WaitingLine(deps);
  for (;;) {
    const behind = [...new Set((await serverReports(deps)).flatMap(({ hostsBehind }) => hostsBehind))].sort();
    if (behind.length === 0) return;
    if (clock.monotonic() >= deadlineMs)
      throw new Failure(`hosts that do not know of the authorities yet: ${behind.join(', ')}`, {
        hint: 'a host asks once a minute while it runs: run this again then. --force does not wait for them, and they have to be enrolled anew',
      });
    waiting.tell(behind, `host${behind.length === 1 ? '' : 's'} ${behind.join(', ')}: each asks once a minute`);
    await clock.sleep(LOOK_MS, io.signal);
  }
}
