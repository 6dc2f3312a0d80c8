import type { Transport } from '../../apiserver/client/transport.ts';
import { UnreachableError } from '../../apiserver/client/unreachable-error.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Claim, Found, Outcome } from './history.ts';

export interface ShownObject {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly data?: { readonly value?: string };
}

/** What is looked at in an answer: an object, a list or a Status. */
export interface AnswerBody extends Partial<ShownObject> {
  readonly metadata: ShownObject['metadata'] & { readonly continue?: string };
  readonly items?: readonly ShownObject[];
  readonly reason?: string;
}

export interface Answer {
  readonly outcome: Outcome;
  readonly status: number;
  readonly body: AnswerBody | undefined;
  readonly why?: string;
}

export interface Question {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  /** Names in lowercase. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Statuses after which a write may have happened. */
const UNSURE = new Set([408, 500, 502, 504]);

/**
 * Asks once and reads the whole answer. What was never sent was not done; of a connection that broke, a 5xx that is unsure and an answer that did not come in
 * time nobody knows; 503 and every 4xx promise that nothing was done.
 */
export async function ask(
  send: Transport,
  { method, path, body, headers }: Question,
  patience: { clock: Clock; ms: number },
): Promise<Answer> {
  const giveUp = new AbortController();
  const stop = patience.clock.after(patience.ms, () => giveUp.abort(new Error('no answer in time')));
  try {
    const { signal } = giveUp;
    const sent =
      body === undefined
        ? {}
        : { body: Buffer.from(JSON.stringify(body)), headers: { 'content-type': 'application/json', ...headers } };
    const answer = await send({ method, path, signal, ...sent });
    const pieces: Uint8Array[] = [];
    for await (const piece of answer.body) pieces.push(piece);
    return answered(answer.status, Buffer.concat(pieces).toString('utf8'));
  } catch (error) {
    const refused = error instanceof UnreachableError && !error.sent;
    const why = giveUp.signal.aborted ? 'no answer in time' : textOf(error);
    return { outcome: refused ? 'refused' : 'unknown', status: 0, body: undefined, why };
  } finally {
    stop();
  }
}

function answered(status: number, text: string): Answer {
  const body = parsed(text);
  if (status < 300 && body !== undefined) return { outcome: 'ok', status, body };
  const why = `${status} ${body?.reason ?? ''}`.trim();
  return { outcome: status < 300 || UNSURE.has(status) ? 'unknown' : 'refused', status, body, why };
}

function parsed(text: string): AnswerBody | undefined {
  try {
    return JSON.parse(text) as AnswerBody;
  } catch {
    return undefined;
  }
}

/** What a refusal says of the object it is about. */
export function claimOf({ status, body }: Answer): Claim | undefined {
  if (status === 404) return 'absent';
  if (status !== 409) return undefined;
  return body?.reason === 'AlreadyExists' ? 'present' : 'other';
}

export function foundIn(object: Partial<ShownObject>): Found {
  return { value: object.data?.value ?? '', version: Number(object.metadata?.resourceVersion) };
}

const textOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
