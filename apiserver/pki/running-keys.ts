import type { Clock } from '../../resources/ambient/clock.ts';
import type { OperatorToken, OperatorTokens } from '../auth/operator-tokens.ts';
import type { ServiceAccountTokens } from '../auth/service-account-tokens.ts';
import type { TokenExpiries } from '../auth/token-expiries.ts';
import type { HostAuthorities } from '../enrollment/host-authorities.ts';
import type { Resealer } from '../sealing/resealer.ts';
import type { Sealer } from '../sealing/sealer.ts';

/** The keys a server works with, besides those of TLS. */
export interface ServerKeys {
  readonly operatorTokens: readonly OperatorToken[];
  /** PEM; the first signs. */
  readonly serviceAccountKey: string;
  /** Hex; the first seals. */
  readonly sealingKeys: readonly string[];
}

interface RunningKeysDeps {
  readonly operatorTokens: OperatorTokens;
  readonly serviceAccounts: ServiceAccountTokens;
  readonly expiries: TokenExpiries;
  readonly sealer: Sealer;
  readonly resealer: Resealer;
  readonly hostAuthorities: HostAuthorities;
  readonly clock: Clock;
  /** Reads them where they are kept; undefined when that cannot be done. */
  readonly read?: () => ServerKeys | undefined;
}

/** Whoever shows tokens of unknown keys does not keep the disk busy with them. */
const REREAD_MS = 1_000;

/** The keys of a running server, which can be changed at any time. */
export class RunningKeys {
  readonly #deps: RunningKeysDeps;
  #readAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: RunningKeysDeps) {
    this.#deps = deps;
  }

  /** Works with these from now on. */
  use({ operatorTokens, serviceAccountKey, sealingKeys }: ServerKeys): void {
    this.#deps.operatorTokens.replace(operatorTokens);
    this.#deps.serviceAccounts.replaceKeys(serviceAccountKey);
    this.#deps.sealer.replace(sealingKeys);
    this.#deps.resealer.keysChanged();
  }

  /** Looks where they are kept, at once: something was made with a key that is not known here. */
  reread(): void {
    const nowMs = this.#deps.clock.monotonic();
    if (nowMs - this.#readAtMs < REREAD_MS) return;
    this.#readAtMs = nowMs;
    const keys = this.#deps.read?.();
    if (keys !== undefined) this.use(keys);
  }

  /** How many values in the store are sealed with another key than the one that seals; undefined while that is not known. */
  get behind(): number | undefined {
    return this.#deps.resealer.behind;
  }

  /** The names of enrolled hosts that were not told yet to trust these authorities, in this order. */
  hostsBehind(caCert: string, signal: AbortSignal): Promise<readonly string[]> {
    return this.#deps.hostAuthorities.behind(caCert, signal);
  }

  /** When the last token ends that was signed with a key of service accounts, in milliseconds, to the hour; 0 when there never was one. */
  lastToken(keyId: string, signal: AbortSignal): Promise<number> {
    return this.#deps.expiries.last(keyId, signal);
  }
}
