import { type DrainMode, fateOf } from '../../resources/guards/drain-fate.ts';
import type { VM } from '../../resources/kinds/vm.ts';
import { counted } from '../../resources/meta/counted.ts';
import { objectKey } from '../../resources/meta/object.ts';
import { type MoveDeps, type MoveStep, nextOfMove } from './move.ts';

/** What is to be done about one VM; each is safe to do again. */
export type Step = { readonly kind: 'evict'; readonly vm: VM } | MoveStep;

/** What stands in the way of one VM. */
export interface Waiting {
  /** NAMESPACE/NAME. */
  readonly vm: string;
  readonly reason: string;
}

/** What the drain of a host comes to now. */
export interface Progress {
  /** VMs that go, or are on their way out for another reason. */
  readonly evicting: number;
  /** VMs that are started elsewhere before they go. */
  readonly moving: number;
  readonly kept: number;
  readonly waiting: readonly Waiting[];
  readonly steps: readonly Step[];
  /** When to look again though nothing changes, in milliseconds. */
  readonly againInMs?: number;
}

export interface DrainWorld extends MoveDeps {
  readonly mode: DrainMode;
  /** The VMs bound to the host of which something is left. */
  readonly bound: readonly VM[];
  /** Why nothing that goes on the host would be seen to go; undefined: its nodelet is heard. */
  readonly unheard: string | undefined;
  /** Stand-ins of a VM, by its uid. */
  readonly standInsOf: (uid: string) => readonly VM[];
}

/** What becomes of every VM of a host that is drained, from what is so. */
export function decide(world: DrainWorld): Progress {
  let [evicting, moving, kept] = [0, 0, 0];
  const waiting: Waiting[] = [];
  const steps: Step[] = [];
  let againInMs: number | undefined;
  for (const vm of [...world.bound].sort(byKey)) {
    const leaves = vm.metadata.deletionTimestamp !== undefined;
    const fate = leaves ? 'evict' : fateOf(vm, world.mode);
    if (fate === 'keep') kept++;
    if (fate === 'evict') {
      evicting++;
      if (!leaves) steps.push({ kind: 'evict', vm });
      if (world.unheard !== undefined) waiting.push({ vm: objectKey(vm.metadata), reason: world.unheard });
    }
    if (fate !== 'move') continue;
    moving++;
    const next = nextOfMove(vm, world.standInsOf(vm.metadata.uid), world);
    steps.push(...next.steps);
    if (next.waits !== undefined) waiting.push({ vm: objectKey(vm.metadata), reason: next.waits });
    if (next.againInMs !== undefined) againInMs = Math.min(againInMs ?? next.againInMs, next.againInMs);
  }
  return { evicting, moving, kept, waiting, steps, ...(againInMs === undefined ? {} : { againInMs }) };
}

/** What condition Drained says of it. */
export function drainedCondition(mode: DrainMode, { evicting, moving, kept, waiting }: Progress) {
  const type = 'Drained';
  if (evicting + moving === 0) {
    const reason = mode === 'Cordon' ? 'Cordoned' : kept === 0 ? 'Empty' : 'KeptRemain';
    const stays = kept === 0 ? 'no VM is left' : `${counted(kept, 'VM')} ${kept === 1 ? 'stays' : 'stay'}`;
    const why = kept === 0 ? '' : mode === 'Cordon' ? ', as mode Cordon keeps all' : `, which mode ${mode} keeps`;
    return { type, status: 'True', reason, message: `it takes no new VM; ${stays}${why}` } as const;
  }
  const parts = [
    ...(evicting === 0 ? [] : [`${counted(evicting, 'VM')} ${evicting === 1 ? 'goes' : 'go'}`]),
    ...(moving === 0 ? [] : [`${counted(moving, 'VM')} to be started elsewhere first`]),
    ...(kept === 0 ? [] : [`${counted(kept, 'VM')} ${kept === 1 ? 'stays' : 'stay'}`]),
  ];
  const [first] = waiting;
  const more = waiting.length > 1 ? `, and ${waiting.length - 1} more` : '';
  const waits = first === undefined ? '' : `; waiting: ${first.vm} (${first.reason})${more}`;
  const reason = first === undefined ? 'InProgress' : 'Waiting';
  return { type, status: 'False', reason, message: `${parts.join(', ')}${waits}` } as const;
}

function byKey(a: VM, b: VM): number {
  return objectKey(a.metadata) < objectKey(b.metadata) ? -1 : 1;
}
