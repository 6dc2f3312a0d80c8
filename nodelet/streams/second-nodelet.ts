import type { IncomingMessage } from 'node:http';
import { isObject } from '../../resources/meta/object.ts';

const CONFLICT = 409;
const MAX_BODY_BYTES = 16 << 10;

/** What a server answered to a handshake instead of taking it. */
export interface Refusal {
  readonly why: string;
  /** Whether it is for the sake of another nodelet of this host. */
  readonly second: boolean;
}

/** Reads the answer, as far as it comes. */
export async function readRefusal(response: IncomingMessage): Promise<Refusal> {
  const why = `the server answered ${response.statusCode}`;
  if (response.statusCode !== CONFLICT) return { why, second: false };
  let text = '';
  try {
    for await (const piece of response) {
      text += String(piece);
      if (text.length > MAX_BODY_BYTES) break;
    }
    const status: unknown = JSON.parse(text);
    if (isObject(status) && typeof status.message === 'string') return { why: status.message, second: true };
  } catch {
    // The code alone says it.
  }
  return { why, second: true };
}
