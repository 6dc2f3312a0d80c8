import type { Clock } from '../../resources/ambient/clock.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import type { Eventual } from '../eventual.ts';
import type { ServerRequest, ServerResponse } from '../requests/server-request.ts';
import type { Authenticator } from './authenticate.ts';
import { type Identity, tenantOf } from './identity.ts';

/** How often it is looked whether somebody whose request goes on may still come in, in milliseconds. */
const AGAIN_MS = 10_000;

interface Deps {
  readonly authenticate: Authenticator;
  readonly clock: Clock;
}

/**
 * Looks again and again whether the credential of a request that goes on is good: who belongs to a tenant that is disabled or deleted by now, or whose
 * token is another, is told no more. Disposed when the request is over.
 */
export class WhileKnown implements Disposable {
  readonly #request: ServerRequest;
  readonly #deps: Deps;
  readonly #refused = new AbortController();
  #stop: () => void;
  #over = false;

  private constructor(request: ServerRequest, deps: Deps) {
    this.#request = request;
    this.#deps = deps;
    this.#stop = this.#later();
  }

  /** Undefined for who belongs to no tenant. */
  static of(request: ServerRequest, identity: Identity, deps: Deps): WhileKnown | undefined {
    const isTenants = request.credential.kind === 'wire' && tenantOf(identity) !== undefined;
    return isTenants ? new WhileKnown(request, deps) : undefined;
  }

  /** Aborts once the credential is refused. */
  get refused(): AbortSignal {
    return this.#refused.signal;
  }

  [Symbol.dispose](): void {
    this.#over = true;
    this.#stop();
  }

  #later(): () => void {
    return this.#deps.clock.after(AGAIN_MS, () => void this.#look());
  }

  async #look(): Promise<void> {
    const { credential, signal } = this.#request;
    const refusal = signal.aborted
      ? undefined
      : await refusalOf(() => this.#deps.authenticate(credential, this.#request));
    if (this.#over || signal.aborted) return;
    if (refusal !== undefined) this.#refused.abort(refusal);
    else this.#stop = this.#later();
  }
}

/** Undefined also where nobody can say: who was let in stays until somebody says otherwise. */
async function refusalOf(authenticate: () => Eventual<Identity>): Promise<ApiError | undefined> {
  try {
    await authenticate();
    return undefined;
  } catch (error) {
    return error instanceof ApiError && (error.reason === 'Unauthorized' || error.reason === 'Forbidden')
      ? error
      : undefined;
  }
}

/** A response for as long as whose body goes on somebody looks. */
export async function lookedAfter(known: Disposable, respond: () => Eventual<ServerResponse>): Promise<ServerResponse> {
  await using held = new AsyncDisposableStack();
  held.use(known);
  const response = await respond();
  const { body } = response;
  if (body instanceof Uint8Array) return response;
  held.move();
  return { ...response, body: disposing(body, known) };
}

async function* disposing(body: AsyncIterable<Uint8Array>, known: Disposable): AsyncIterable<Uint8Array> {
  using _ = known;
  yield* body;
}
