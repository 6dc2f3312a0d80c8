import { FieldReader } from './field-reader.ts';
import { FrameWriter } from './frame-writer.ts';

export const GRANT_PATH = '/etcdserverpb.Lease/LeaseGrant';
export const REVOKE_PATH = '/etcdserverpb.Lease/LeaseRevoke';
/** A stream in both directions; one that is ended after its first message is a call like any other. */
export const KEEP_ALIVE_PATH = '/etcdserverpb.Lease/LeaseKeepAlive';

const GRANT = { seconds: 1, id: 2 } as const;
const ID = 1;
const SECONDS = 3;
const MOST_BYTES = 32;

export function encodeGrant(id: number, seconds: number): Buffer {
  const writer = new FrameWriter(MOST_BYTES);
  writer.number(GRANT.seconds, seconds);
  writer.number(GRANT.id, id);
  return writer.frame();
}

/** To keep a lease, or to end it. */
export function encodeLease(id: number): Buffer {
  const writer = new FrameWriter(MOST_BYTES);
  writer.number(ID, id);
  return writer.frame();
}

/** How many seconds a lease has that was kept; 0 for one that is not there. */
export function decodeKept(answer: Buffer): number {
  const reader = new FieldReader(answer);
  let seconds = 0;
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === SECONDS) seconds = reader.number();
    else reader.skip();
  }
  return seconds;
}
