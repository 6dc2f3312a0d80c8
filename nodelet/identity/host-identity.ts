import { createHash, X509Certificate } from 'node:crypto';
import type { ApiClient } from '../../apiserver/client/client.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import { type ControlPlane, controlPlaneOf } from './control-plane.ts';
import { newHostKey } from './host-key.ts';
import type { Credentials, IdentityFile } from './identity-file.ts';
import { requestCertificate } from './request-certificate.ts';

interface HostIdentityOptions {
  readonly name: string;
  readonly file: IdentityFile;
  readonly credentials: Credentials;
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
}

/** How often it is looked whether the certificate is to be renewed, give or take a quarter. */
const CHECK_MS = 60_000;

/** Who a host is to the servers: its credentials, which change while it runs. */
export class HostIdentity {
  readonly #options: HostIdentityOptions;
  #credentials: Credentials;
  /** Ends the wait for the next check. */
  #wake: () => void = () => {};
  /** Whether it was told that servers do not take the host for what it says it is. */
  #refused = false;

  constructor(options: HostIdentityOptions) {
    this.#options = options;
    this.#credentials = options.credentials;
  }

  /** As it is now: what is opened later may be opened with another. */
  get credentials(): Credentials {
    return this.#credentials;
  }

  /** Asks about the control plane, as this host. That it has other authorities now is seen to. */
  async controlPlane(client: ApiClient, signal: AbortSignal): Promise<ControlPlane> {
    const told = await controlPlaneOf(client, this.#options.name, signal);
    if (told.authorities !== hashOf(this.#credentials)) this.#wake();
    return told;
  }

  /**
   * Renews the certificate before a third of its life is left, and when servers are to be trusted by other authorities, until the signal aborts.
   * `client` asks as this host.
   */
  async keep(client: ApiClient, signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#options;
    for (;;) {
      try {
        await this.#check(client, signal);
        this.#refused = false;
      } catch (error) {
        signal.throwIfAborted();
        if (isRefusal(error)) this.#tellRefusal(error.message);
        else log.info('certificate not looked after', { why: String(error) });
      }
      const woken = new AbortController();
      this.#wake = () => woken.abort();
      const ends = AbortSignal.any([signal, woken.signal]);
      await clock.sleep(CHECK_MS * (0.75 + random() / 2), ends).catch(() => signal.throwIfAborted());
    }
  }

  async #check(client: ApiClient, signal: AbortSignal): Promise<void> {
    const { name, file, clock, log } = this.#options;
    const { certificate } = this.#credentials;
    const told = await controlPlaneOf(client, name, signal);
    if (told.authorities === hashOf(this.#credentials) && !isOld(certificate, clock.now())) return;
    const credentials = await requestCertificate(client, name, await newHostKey(), signal);
    const kept = await file.read();
    await file.write({ ...kept, enrolled: { token: kept?.enrolled?.token ?? '', credentials } });
    this.#credentials = credentials;
    log.info('certificate renewed', { until: new X509Certificate(credentials.certificate).validToDate.toISOString() });
  }

  #tellRefusal(why: string): void {
    if (this.#refused) return;
    this.#refused = true;
    const { name } = this.#options;
    const remedy = `enroll it again with a token of "coppice host token ${name}"; its guests run on`;
    this.#options.log.error('the servers do not take this host for what it was', { host: name, why, remedy });
  }
}

const hashOf = ({ authorities }: Credentials) => createHash('sha256').update(authorities).digest('hex');

function isRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && ['Unauthorized', 'Forbidden', 'NotFound'].includes(error.reason);
}

/** Whether less than a third of its life is left. */
function isOld(pem: string, nowMs: number): boolean {
  const { validFromDate, validToDate } = new X509Certificate(pem);
  return validToDate.getTime() - nowMs < (validToDate.getTime() - validFromDate.getTime()) / 3;
}
