import type { Transport } from '../apiserver/client/transport.ts';
import type { Clock } from '../resources/ambient/clock.ts';
import type { Driver } from './drivers/driver.ts';
import { type OpenSocket, openSocket } from './streams/server-socket.ts';

/** What a nodelet meets of the world: its guests, the time, and the way to the API server. */
export interface Outside {
  readonly driver: Driver;
  /** The host's clock, made from the true one. */
  clock(inner: Clock): Clock;
  transport(inner: Transport): Transport;
  /** Opens the sockets to the API server. */
  readonly open: OpenSocket;
  /** Asks something that only the API server knows. */
  ask<T>(question: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T>;
}

/** The world as it is. */
export function plainOutside(driver: Driver): Outside {
  return {
    driver,
    clock: (inner) => inner,
    transport: (inner) => inner,
    open: openSocket,
    ask: (question, signal) => question(signal),
  };
}
