import type { Fault } from './chaos-world.ts';
import type { ProcessPlace } from './process-place.ts';

/** What can be done to any process. `waits`: a kill is over only when it is at work again, for one that would else be killed while it starts, always. */
export function processFaults(place: ProcessPlace, target: string, waits = false): readonly Fault[] {
  const kill = async () => {
    await place.kill();
    return async () => {
      const started = place.startAgain();
      if (waits) await started;
    };
  };
  const pause = async () => {
    place.pause();
    return async () => place.resume();
  };
  return [
    { name: 'kill', target, begin: kill },
    { name: 'pause', target, begin: pause },
  ];
}
