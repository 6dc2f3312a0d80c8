import { isObject } from '../meta/object.ts';
import type { StreamRequest } from './control-messages.ts';

/** A stream request as it came over the network; undefined when it is none. */
export function parseStreamRequest(value: unknown): StreamRequest | undefined {
  if (!isObject(value) || typeof value.guestID !== 'string') return undefined;
  const { guestID, command, tailLines } = value;
  if (value.kind === 'exec') {
    if (!Array.isArray(command) || !command.every((word) => typeof word === 'string')) return undefined;
    return { kind: 'exec', guestID, command, stdin: value.stdin === true, tty: value.tty === true };
  }
  if (value.kind !== 'logs') return undefined;
  return {
    kind: 'logs',
    guestID,
    follow: value.follow === true,
    ...(typeof tailLines === 'number' && Number.isInteger(tailLines) && tailLines >= 0 ? { tailLines } : {}),
  };
}
