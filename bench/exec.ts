import { PassThrough } from 'node:stream';
import { execPath } from '../cli/actions/exec.ts';
import { openChannelSocket } from '../cli/exec/channel-socket.ts';
import { runExec } from '../cli/exec/exec-stream.ts';
import type { AgentConnection } from '../nodelet/agent/agent-connection.ts';
import { BenchVMs } from './bench-vms.ts';
import { CoppiceUp } from './coppice-up.ts';
import type { BenchWorld, Goal } from './goal.ts';
import { GuestWorld } from './guest-world.ts';
import { atMost, median } from './harness.ts';

const HOME = 'exec';
const VM_NAME = 'hello';
const TIMES_A_ROUND = 10;

/** Goal 26: `true` in a guest, from opening the stream to its exit code, against asking an agent over its own socket. */
export const exec: Goal = {
  names: ['26', 'exec'],
  async open(world, held) {
    const guests = await GuestWorld.open(world);
    await guests.makeHome(HOME);
    const up = held.use(await CoppiceUp.start(world, HOME, ['--driver', 'qemu'], /is Ready[\s\S]*up in/));
    const vms = new BenchVMs(up.client(held), world.signal);
    held.defer(() => vms.removeAll());
    const bare = held.use(await guests.startBare());
    return [
      {
        goal: '26',
        title: 'exec of true, new connection each time',
        unit: 'ms',
        ours: () => medianOf(world, () => throughServer(up, world.signal)),
        control: { title: 'at the agent', take: () => medianOf(world, () => atAgent(bare.agent, world.signal)) },
        must: atMost(25, 'ms'),
        great: atMost(10, 'ms'),
      },
    ];
  },
};

async function medianOf({ clock }: BenchWorld, run: () => Promise<number | undefined>): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < TIMES_A_ROUND; i++) {
    const began = clock.monotonic();
    const code = await run();
    times.push(clock.monotonic() - began);
    if (code !== 0) throw new Error(`true ended with ${code}`);
  }
  return median(times);
}

async function throughServer(up: CoppiceUp, signal: AbortSignal): Promise<number | undefined> {
  const path = execPath('demo', VM_NAME, ['true'], { stdin: false, tty: false });
  const socket = await openChannelSocket(up.connection(), path, signal);
  const nowhere = new PassThrough().resume();
  const streams = { stdin: undefined, stdout: nowhere, stderr: nowhere, terminal: undefined };
  const result = await runExec(socket, streams, signal);
  return result.kind === 'exited' ? result.code : undefined;
}

async function atAgent(agent: AgentConnection, signal: AbortSignal): Promise<number> {
  const command = await agent.exec({ command: ['true'], stdin: false }, signal);
  return (await command.exit).code;
}
