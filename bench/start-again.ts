import { BenchVMs } from './bench-vms.ts';
import { CoppiceUp } from './coppice-up.ts';
import type { Goal } from './goal.ts';
import { GuestWorld } from './guest-world.ts';
import { atMost } from './harness.ts';

const HOME = 'again';
const READY = /VM demo\/hello is Ready[\s\S]*up in/;

/** Goal 21: `npm start` on a home that was used before, to a Ready VM. The guest has gone on running, and is taken over. */
export const startAgain: Goal = {
  names: ['21', 'start-again'],
  async open(world, held) {
    const guests = await GuestWorld.open(world);
    await guests.makeHome(HOME);
    const start = () => CoppiceUp.start(world, HOME, ['--driver', 'qemu'], READY);
    await (await start())[Symbol.asyncDispose]();
    held.defer(async () => {
      await using last = new AsyncDisposableStack();
      await new BenchVMs(last.use(await start()).client(last), world.signal).removeAll();
    });
    return [
      {
        goal: '21',
        title: 'npm start again to a Ready VM (adopted)',
        unit: 'ms',
        async ours() {
          const began = world.clock.monotonic();
          await using _up = await start();
          return world.clock.monotonic() - began;
        },
        control: { title: 'bare QEMU to agent', take: () => guests.timeBareStart() },
        must: atMost(6000, 'ms'),
        great: atMost(4000, 'ms'),
      },
    ];
  },
};
