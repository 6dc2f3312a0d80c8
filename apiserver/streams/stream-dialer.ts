import type { WebSocket } from 'ws';
import type { StreamRequest } from '../../resources/streams/control-messages.ts';

/** Opens streams on hosts. */
export interface StreamDialer {
  /** Asks a host to open a stream; resolves with its socket. Throws `ApiError`: `ServiceUnavailable` when the host cannot be reached now. */
  dial(host: string, stream: StreamRequest, signal: AbortSignal): Promise<WebSocket>;
}
