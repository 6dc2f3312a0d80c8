/** The wire format of PROTOCOL.md: encoding, and a decoder that takes nothing on trust. Pure. */
export const PROTOCOL_VERSION = 1;
export const STREAM_WINDOW = 262_144;
export const NONCE_BYTES = 16;
export const ENTROPY_BYTES = 32;
export const MAX_PAYLOAD = 65_536;
const HEADER_BYTES = 9;
const BOOT_ID_BYTES = 36;
const MAX_WORDS = 1024;

/** Holds no zero byte, so it cannot span two frames; its first byte is in no UTF-8 text and nowhere else in it. */
export const MARKER: Uint8Array = Buffer.from('\xffCOPPICE-AGENT\xfe\xfd', 'latin1');

export const HostFrame = {
  HELLO: 1,
  PING: 2,
  EXEC: 3,
  STDIN: 4,
  STDIN_EOF: 5,
  RESIZE: 6,
  SIGNAL: 7,
  CLOSE: 8,
  CREDIT: 9,
  INFO: 10,
  SHUTDOWN: 11,
  SET_TIME: 12,
  SET_IDENTITY: 13,
} as const;
export type HostFrame = (typeof HostFrame)[keyof typeof HostFrame];

export const AgentFrame = {
  HELLO: 129,
  PONG: 130,
  STARTED: 131,
  STDOUT: 132,
  STDERR: 133,
  EXIT: 134,
  ERROR: 135,
  CREDIT: 136,
  INFO: 137,
  DONE: 138,
} as const;

export const Stream = { stdin: 0, stdout: 1, stderr: 2 } as const;

export interface Frame {
  readonly type: number;
  readonly channel: number;
  /** A view into the decoder's buffer or the caller's bytes: copy it to keep it. */
  readonly payload: Uint8Array;
}

/** The other side broke the protocol; the session cannot go on. */
export class ProtocolError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ProtocolError';
  }
}

const NOTHING = new Uint8Array(0);

/** Throws RangeError when the payload is over 64 KiB. */
export function encodeFrame(type: number, channel: number, payload: Uint8Array = NOTHING): Uint8Array {
  if (payload.length > MAX_PAYLOAD) throw new RangeError(`a frame holds ${MAX_PAYLOAD} bytes, not ${payload.length}`);
  const frame = Buffer.allocUnsafe(HEADER_BYTES + payload.length);
  frame.writeUInt32BE(5 + payload.length, 0);
  frame.writeUInt8(type, 4);
  frame.writeUInt32BE(channel, 5);
  frame.set(payload, HEADER_BYTES);
  return frame;
}

/** Marker and HELLO, as the host opens a session. */
export function encodeMeeting(nonce: Uint8Array): Uint8Array {
  return Buffer.concat([MARKER, encodeFrame(HostFrame.HELLO, 0, Buffer.concat([u16(PROTOCOL_VERSION), nonce]))]);
}

interface ExecPayload {
  readonly argv: readonly string[];
  readonly env: readonly (readonly [name: string, value: string])[];
  readonly stdin: boolean;
  readonly tty?: { readonly rows: number; readonly columns: number };
  readonly cwd?: string;
}

/** Throws RangeError with a sentence when the command cannot be expressed. */
export function encodeExec(exec: ExecPayload): Uint8Array {
  if (exec.argv.length === 0 || exec.argv[0] === '') throw new RangeError('the command is empty');
  if (exec.argv.length > MAX_WORDS) throw new RangeError(`a command takes ${MAX_WORDS} words, not ${exec.argv.length}`);
  if (exec.env.length > MAX_WORDS)
    throw new RangeError(`a command takes ${MAX_WORDS} variables, not ${exec.env.length}`);
  const bad = exec.env.find(([name]) => name === '' || name.includes('='));
  if (bad !== undefined) throw new RangeError(`not a variable's name: "${bad[0]}"`);
  const words = [...exec.argv, ...exec.env.map(([name, value]) => `${name}=${value}`)];
  if (exec.cwd !== undefined) words.push(exec.cwd);
  if (words.some((word) => word.includes('\0'))) throw new RangeError('a command cannot hold a zero byte');
  const flags = (exec.tty === undefined ? 0 : 1) | (exec.stdin ? 2 : 0) | (exec.cwd === undefined ? 0 : 4);
  const header = [Buffer.of(flags), u16(exec.tty?.rows ?? 0), u16(exec.tty?.columns ?? 0)];
  const counts = [u16(exec.argv.length), u16(exec.env.length)];
  const payload = Buffer.concat([...header, ...counts, ...words.map((word) => Buffer.from(`${word}\0`, 'utf8'))]);
  if (payload.length > MAX_PAYLOAD) {
    throw new RangeError(`the command and its variables take ${payload.length} bytes; the most is ${MAX_PAYLOAD}`);
  }
  return payload;
}

export function encodeSize(rows: number, columns: number): Uint8Array {
  return Buffer.concat([u16(rows), u16(columns)]);
}

export function encodeCredit(stream: number, bytes: number): Uint8Array {
  const payload = Buffer.allocUnsafe(5);
  payload.writeUInt8(stream, 0);
  payload.writeUInt32BE(bytes, 1);
  return payload;
}

/** `ms` are milliseconds since the epoch, not negative. */
export function encodeTime(ms: number): Uint8Array {
  const payload = Buffer.allocUnsafe(8);
  payload.writeBigUInt64BE(BigInt(Math.floor(ms)));
  return payload;
}

/** Cuts bytes into STDIN payloads of at most `limit` bytes, none of which holds the marker. */
export function* stdinPayloads(bytes: Uint8Array, limit = 32_768): Generator<Uint8Array> {
  const marker = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  while (at < bytes.length) {
    let end = Math.min(at + limit, bytes.length);
    const found = marker.subarray(at, end).indexOf(MARKER);
    if (found >= 0) end = at + found + 1;
    yield bytes.subarray(at, end);
    at = end;
  }
}

interface HelloPayload {
  readonly protocolVersion: number;
  readonly bootId: string;
  readonly agentVersion: string;
}

export function decodeHello(payload: Uint8Array): HelloPayload {
  const bytes = view(payload);
  const start = MARKER.length + NONCE_BYTES;
  if (bytes.length < start + 2 + BOOT_ID_BYTES) throw new ProtocolError('the agent’s HELLO is cut short');
  const bootId = bytes.toString('latin1', start + 2, start + 2 + BOOT_ID_BYTES);
  return {
    protocolVersion: bytes.readUInt16BE(start),
    bootId: /^[0-9a-f-]{36}$/.test(bootId) ? bootId : '',
    agentVersion: printable(bytes.subarray(start + 2 + BOOT_ID_BYTES), 64),
  };
}

export function decodeExit(payload: Uint8Array): { readonly code: number; readonly signal?: number } {
  if (payload.length !== 8) throw new ProtocolError(`EXIT has ${payload.length} bytes, not 8`);
  const code = view(payload).readUInt32BE(0);
  const signal = view(payload).readUInt32BE(4);
  if (code > 255 || signal > 127) throw new ProtocolError(`EXIT says code ${code}, signal ${signal}`);
  return signal === 0 ? { code } : { code, signal };
}

export function decodeCredit(payload: Uint8Array): { readonly stream: number; readonly bytes: number } {
  if (payload.length !== 5) throw new ProtocolError(`CREDIT has ${payload.length} bytes, not 5`);
  return { stream: view(payload).readUInt8(0), bytes: view(payload).readUInt32BE(1) };
}

export const ErrorReason = { invalid: 1, busy: 2, failed: 3, unsupported: 4, protocol: 5 } as const;

export function decodeError(payload: Uint8Array): { readonly reason: number; readonly message: string } {
  if (payload.length < 1) throw new ProtocolError('ERROR is empty');
  return { reason: view(payload).readUInt8(0), message: printable(payload.subarray(1), 255) };
}

/** The lines `key=value` of INFO; lines of another form are left out. */
export function decodeInfo(payload: Uint8Array): readonly (readonly [key: string, value: string])[] {
  return view(payload)
    .toString('utf8')
    .split('\n')
    .slice(0, 256)
    .flatMap((line) => {
      const match = /^([a-z_]{1,32})=([\x20-\x7e]{0,255})$/.exec(line);
      return match?.[1] === undefined || match[2] === undefined ? [] : [[match[1], match[2]] as const];
    });
}

/** Text from the guest, fit to show: no control characters, bounded. */
function printable(bytes: Uint8Array, limit: number): string {
  return view(bytes.subarray(0, limit))
    .toString('utf8')
    .replace(/[^\x20-\x7e\u00a0-\uffff]/g, '?');
}

function u16(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(2);
  bytes.writeUInt16BE(Math.max(0, Math.min(65_535, Math.trunc(value) || 0)));
  return bytes;
}

function view(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
