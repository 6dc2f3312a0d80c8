import type { ApiRequest, Transport } from '../../apiserver/client/transport.ts';
import { TERM_HEADER, type Term, termHeader } from '../../resources/meta/term-header.ts';

/** Nothing was sent: this process does not lead the duty, as far as it can be certain. */
export class NotLeadingError extends Error {
  constructor(duty: string) {
    super(`this process does not lead ${duty} just now`);
    this.name = 'NotLeadingError';
  }
}

/**
 * A transport for the writes of one who leads: each is sent only while it is certain that it does, judged when it is sent, and says under which
 * term, so that the server refuses it once the term is over however long it was under way. The signal gives up what is unanswered when it aborts.
 */
export function ifLeading(
  transport: Transport,
  {
    duty,
    term,
    signal,
  }: { readonly duty: string; readonly term: () => Term | undefined; readonly signal: AbortSignal },
): Transport {
  return async (request) => {
    const until = request.signal === undefined ? signal : AbortSignal.any([request.signal, signal]);
    until.throwIfAborted();
    if (request.method === 'GET') return transport({ ...request, signal: until });
    const under = term();
    if (under === undefined) throw new NotLeadingError(duty);
    return transport(underTerm({ ...request, signal: until }, under));
  };
}

function underTerm(request: ApiRequest, term: Term): ApiRequest {
  return { ...request, headers: { ...request.headers, [TERM_HEADER]: termHeader(term) } };
}
