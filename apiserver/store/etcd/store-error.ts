import { StoreError } from '../store.ts';
import { EtcdCallError } from './call-error.ts';
import { plainCause } from './plain-cause.ts';

/** Compaction goes on by itself, and writes with it once the alarm is off; no restart is needed. */
const FULL =
  'etcd has no room left and takes no more writes: an operator must defragment it (etcdctl defrag) and then take its alarm away (etcdctl alarm disarm)';

/** A failed read, or anything else that is safe to try again, as the contract tells it. Other errors are left as they are. */
export function readError(error: unknown): unknown {
  if (!(error instanceof EtcdCallError)) return error;
  const options = { cause: error };
  switch (error.failure) {
    case 'Compacted':
    case 'Future':
    case 'TooLarge':
      return new StoreError(error.failure, error.message, options);
    case 'NoSpace':
      return new StoreError('NoSpace', FULL, options);
    default:
      return new StoreError('Unavailable', told('etcd does not answer', error), options);
  }
}

/** The same for a transaction, where nobody may be told that nothing was done unless that is sure. */
export function writeError(error: unknown): unknown {
  if (!(error instanceof EtcdCallError)) return error;
  if (error.failure !== 'Unclear' && error.failure !== 'AnswerTooBig') return readError(error);
  return new StoreError('UnknownOutcome', told('etcd did not answer the write', error), { cause: error });
}

/** The details stay with the cause. */
function told(what: string, { message }: EtcdCallError): string {
  const cause = plainCause(message);
  return cause === undefined ? what : `${what}: ${cause}`;
}
