import { roughBytes } from '../../resources/meta/quantity.ts';
import type { StoreSize } from '../store/store.ts';

/** How much room a store has left. */
export type RoomLevel = 'Enough' | 'NearlyFull' | 'Full';

export interface Room {
  readonly level: RoomLevel;
  /** One line for people. */
  readonly message: string;
}

const MIB = 1 << 20;
/** Parts of its limit a store may take up; it is well again this much further down. */
const OF_LIMIT = { nearlyFull: 0.8, full: 0.95, back: 0.05 } as const;
/** Of a disk: a twentieth of it, within these bounds, must be free. */
const OF_DISK = { share: 0.05, least: 512 * MIB, most: 10 * 1024 * MIB, full: 64 * MIB, back: 1.2 } as const;

/** Judges a size. `before` is what was judged last: a store that goes to and fro about a limit is not well in between. */
export function judgeRoom(size: StoreSize, before: RoomLevel): Room {
  const worst = [refusing(size), ofLimit(size, before), ofDisk(size, before)].find((room) => room?.level === 'Full');
  const worse = [ofLimit(size, before), ofDisk(size, before)].find((room) => room?.level === 'NearlyFull');
  return worst ?? worse ?? { level: 'Enough', message: `the store takes ${roughBytes(size.bytes)}${boundOf(size)}` };
}

function refusing(size: StoreSize): Room | undefined {
  if (size.refusing !== true) return undefined;
  const message = `etcd takes no more writes: its database has ${roughBytes(size.bytes)}; make room, then: etcdctl alarm disarm`;
  return { level: 'Full', message };
}

function ofLimit({ bytes, limitBytes }: StoreSize, before: RoomLevel): Room | undefined {
  if (limitBytes === undefined) return undefined;
  const share = bytes / limitBytes;
  const level = share >= OF_LIMIT.full - slack(before === 'Full') ? 'Full' : 'NearlyFull';
  if (level === 'NearlyFull' && share < OF_LIMIT.nearlyFull - slack(before !== 'Enough')) return undefined;
  const part = `${Math.round(share * 100)} % of the ${roughBytes(limitBytes)} it may have`;
  return { level, message: `the database of etcd takes ${roughBytes(bytes)}, ${part}` };
}

const slack = (already: boolean): number => (already ? OF_LIMIT.back : 0);

function ofDisk({ bytes, freeBytes, diskBytes }: StoreSize, before: RoomLevel): Room | undefined {
  if (freeBytes === undefined) return undefined;
  const wanted = Math.min(Math.max((diskBytes ?? 0) * OF_DISK.share, OF_DISK.least), OF_DISK.most);
  const message = `the disk of the store has ${roughBytes(freeBytes)} left, the store takes ${roughBytes(bytes)}`;
  if (freeBytes < OF_DISK.full * factor(before === 'Full')) return { level: 'Full', message };
  if (freeBytes < wanted * factor(before !== 'Enough')) return { level: 'NearlyFull', message };
  return undefined;
}

const factor = (already: boolean): number => (already ? OF_DISK.back : 1);

function boundOf({ limitBytes, freeBytes }: StoreSize): string {
  if (limitBytes !== undefined) return ` of ${roughBytes(limitBytes)}`;
  return freeBytes === undefined ? '' : `, its disk has ${roughBytes(freeBytes)} left`;
}
