import { request } from 'node:https';
import { unreachable } from '../../../apiserver/client/https-transport.ts';
import { shownCertificates } from '../../../apiserver/client/shown-certificates.ts';
import { publicKeyHash } from '../../../apiserver/pki/join-material.ts';
import { systemClock } from '../../../resources/ambient/system-clock.ts';
import { isObject, valueAt } from '../../../resources/meta/object.ts';
import { Failure } from '../../failure.ts';

const CONNECT_MS = 10_000;
const MAX_ANSWER_BYTES = 1 << 20;

/**
 * The certificate of the authority that a server is of, as PEM. Throws a `Failure` unless that is one whose public key has one of these hashes.
 */
export async function pinnedAuthority(url: URL, hashes: readonly string[], signal: AbortSignal): Promise<string> {
  const shown = await shownCertificates(url.origin, systemClock, signal);
  const authority = shown.find((certificate) => certificate.ca && hashes.includes(publicKeyHash(certificate)));
  if (authority !== undefined) return authority.toString();
  throw new Failure(`the server at ${url.origin} is not of the fleet that the token is of`, {
    hint: 'name one that is with --server; the token was not shown to this one',
  });
}

/** The files that a server gives for a token. Throws a `Failure` with what the server says. */
export async function askKeys(
  url: URL,
  { token, ca }: { readonly token: string; readonly ca: string },
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  const { status, text } = await post(url, { token, ca }, signal);
  const answer: unknown = parsed(text);
  if (status !== 201) {
    const said = isObject(answer) && typeof answer.message === 'string' ? answer.message : `it answered ${status}`;
    throw new Failure(said, { hint: 'make another token: coppice apiserver token' });
  }
  const files = valueAt(answer, ['status', 'files']);
  if (!isObject(files) || !Object.values(files).every((content) => typeof content === 'string'))
    throw new Failure(`the server at ${url.origin} answered without keys`);
  return files as Readonly<Record<string, string>>;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // What is no JSON is told by its status.
    return undefined;
  }
}

function post(
  url: URL,
  { token, ca }: { readonly token: string; readonly ca: string },
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const body = JSON.stringify({ apiVersion: 'coppice.dev/v1', kind: 'ServerJoin' });
  const outgoing = request(new URL('/apis/coppice.dev/v1/policies/default/join', url), {
    method: 'POST',
    ca,
    // The authority signs for this fleet only, so any server of it is the right one, whatever it is called from here.
    checkServerIdentity: () => undefined,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    timeout: CONNECT_MS,
    agent: false,
    signal,
  });
  outgoing.once('timeout', () => outgoing.destroy(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })));
  outgoing.once('error', (error) => reject(signal.aborted ? signal.reason : unreachable(url.origin, error)));
  outgoing.once('response', (response) => {
    let text = '';
    response.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
      if (text.length > MAX_ANSWER_BYTES) outgoing.destroy(new Error('its answer is too long'));
    });
    response.once('end', () => resolve({ status: response.statusCode ?? 0, text }));
  });
  outgoing.end(body);
  return promise;
}
