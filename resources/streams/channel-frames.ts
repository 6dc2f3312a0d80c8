/**
 * Framing of `v5.channel.k8s.io` (k8s.io/apimachinery/pkg/util/remotecommand): every binary WebSocket message starts with a channel byte.
 * The server passes messages on as they are; both ends are the client and the nodelet.
 */
export const CHANNEL_PROTOCOL = 'v5.channel.k8s.io';

export const CHANNEL = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;

/** No message is larger; senders split. */
export const MAX_MESSAGE_BYTES = 64 << 10;

interface ChannelFrame {
  readonly channel: number;
  readonly payload: Uint8Array;
}

export function encodeFrame(channel: number, payload: Uint8Array): Uint8Array {
  const frame = new Uint8Array(1 + payload.length);
  frame[0] = channel;
  frame.set(payload, 1);
  return frame;
}

/** Undefined for an empty message, which is allowed and means nothing. */
export function decodeFrame(message: Uint8Array): ChannelFrame | undefined {
  const channel = message[0];
  return channel === undefined ? undefined : { channel, payload: message.subarray(1) };
}

/** `255, channel`: no more will come on that channel. */
export function closeFrame(channel: number): Uint8Array {
  return Uint8Array.of(CHANNEL.close, channel);
}

/** How a command ended, as channel 3 carries it: a Status with the exit code as a cause. */
export function exitStatus(code: number): object {
  if (code === 0) return { metadata: {}, status: 'Success' };
  return {
    metadata: {},
    status: 'Failure',
    reason: 'NonZeroExitCode',
    message: `command terminated with non-zero exit code: ${code}`,
    details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
  };
}

/** The exit code in a channel-3 Status, or why there is none. */
export function exitCodeOf(status: {
  readonly status?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: { readonly causes?: readonly { readonly reason?: string; readonly message?: string }[] };
}): { readonly code: number } | { readonly failure: string } {
  if (status.status === 'Success') return { code: 0 };
  const text = status.details?.causes?.find((c) => c.reason === 'ExitCode')?.message;
  const code = Number(text);
  if (status.reason === 'NonZeroExitCode' && text !== undefined && Number.isInteger(code)) return { code };
  return { failure: status.message ?? 'the stream ended without a result' };
}
