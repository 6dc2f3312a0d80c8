import type { Clock } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import type { Transport } from '../client/transport.ts';
import type { Store } from '../store/store.ts';
import { judgeRoom, type Room } from './judge-room.ts';
import { recordShortage } from './record-shortage.ts';

const EVERY_MS = 60_000;
/** Events are forgotten after an hour, and what they tell of may last longer. */
const TELL_AGAIN_MS = 30 * 60_000;

interface RoomWatchDeps {
  readonly store: Store;
  /** For its events. */
  readonly transport: Transport;
  /** Which server says so. */
  readonly serverName: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Looks every minute how much room the store has, and tells of it before it is full: in the log, in an Event, and to whoever asks. */
export class RoomWatch {
  readonly #deps: RoomWatchDeps;
  #room: Room = { level: 'Enough', message: '' };
  #toldAtMs: number | undefined;

  constructor(deps: RoomWatchDeps) {
    this.#deps = deps;
  }

  /** What is to be said of a store that has not much room; undefined while it has. */
  get warning(): string | undefined {
    const { level, message } = this.#room;
    return level === 'Enough' ? undefined : `Store${level}: ${message}`;
  }

  /** Until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps;
    try {
      for (;;) {
        await this.#look(signal).catch((error: unknown) => {
          if (!signal.aborted) log.debug('the size of the store is not known', { error: String(error) });
        });
        await clock.sleep(EVERY_MS, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { store, log } = this.#deps;
    const size = await store.size?.(signal);
    if (size === undefined) return;
    const before = this.#room.level;
    this.#room = judgeRoom(size, before);
    const { level, message } = this.#room;
    if (level !== before) {
      this.#toldAtMs = undefined;
      if (level === 'Enough') log.info('the store has room again', { size: message });
      else log.error(level === 'Full' ? 'the store is full' : 'the store is nearly full', { size: message });
    }
    if (level !== 'Enough') await this.#record(level, message, signal);
  }

  /** An Event that cannot be written, as the store is full, is tried again the next minute. */
  async #record(level: 'NearlyFull' | 'Full', message: string, signal: AbortSignal): Promise<void> {
    const { clock, log, transport, serverName } = this.#deps;
    const nowMs = clock.monotonic();
    if (this.#toldAtMs !== undefined && nowMs - this.#toldAtMs < TELL_AGAIN_MS) return;
    try {
      await recordShortage({ transport, serverName, clock }, { reason: `Store${level}`, message }, signal);
      this.#toldAtMs = nowMs;
    } catch (error) {
      if (!signal.aborted) log.debug('event dropped', { reason: `Store${level}`, error: String(error) });
    }
  }
}
