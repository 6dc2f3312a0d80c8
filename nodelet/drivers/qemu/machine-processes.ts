import { platform } from 'node:os';
import type { Clock } from '../../../resources/ambient/clock.ts';
import { type HostProcesses, procProcesses, psProcesses } from './host-processes.ts';

/** How this machine tells of its processes. */
export function machineProcesses(clock: Clock): HostProcesses {
  return platform() === 'linux' ? procProcesses('/proc') : psProcesses(clock);
}
