/**
 * How a call to etcd failed, in the one respect that decides what may be done next.
 *
 * - `NotSent`: no server has seen it. - `Refused`: a server has, and did nothing. - `Unclear`: nobody can tell whether it was done.
 * - `AnswerTooBig`: done, but the answer is over what this client takes. - The others are etcd's own answers; nothing was done.
 */
type CallFailure = 'NotSent' | 'Refused' | 'Unclear' | 'AnswerTooBig' | 'Compacted' | 'Future' | 'NoSpace' | 'TooLarge';

export class EtcdCallError extends Error {
  readonly failure: CallFailure;
  constructor(failure: CallFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'EtcdCallError';
    this.failure = failure;
  }
}

/** etcd's texts are its interface: several of them share one gRPC code. */
const TEXTS: readonly (readonly [text: string, CallFailure])[] = [
  ['required revision has been compacted', 'Compacted'],
  ['required revision is a future revision', 'Future'],
  ['database space exceeded', 'NoSpace'],
  ['request is too large', 'TooLarge'],
  ['too many requests', 'Refused'],
  ['permission denied', 'Refused'],
  ['authentication failed', 'Refused'],
  ['authentication is not enabled', 'Refused'],
  ['user name is empty', 'Refused'],
  ['requested lease not found', 'Refused'],
  ['lease already exists', 'Refused'],
];

/** Any error of a call as one of ours. What is not known is `Unclear`, the answer that promises least. */
export function callError(error: unknown): EtcdCallError {
  if (error instanceof EtcdCallError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const failure = TEXTS.find(([text]) => message.includes(text))?.[1] ?? 'Unclear';
  return new EtcdCallError(failure, message, { cause: error });
}
