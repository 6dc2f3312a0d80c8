import { systemClock } from '../../resources/ambient/system-clock.ts';
import { type PlanCost, planCost } from '../../resources/costs/plan-cost.ts';
import { PRICE_LISTS } from '../../resources/guards/refs.ts';
import { objectKey } from '../../resources/meta/object.ts';
import { ApplySet } from '../apply/apply-set.ts';
import { placeObjects } from '../apply/placed.ts';
import { reportFailure } from '../apply/report-failure.ts';
import type { ApplyManner } from '../apply/send.ts';
import { readSources } from '../apply/sources.ts';
import type { Target } from '../coppice-command.ts';
import { Exit, Failure, usage } from '../failure.ts';
import type { Io } from '../io.ts';
import { type PlannedObject, planObjects, planPrune } from '../plan/plan-objects.ts';
import { readFacts } from '../plan/read-facts.ts';
import { planDocument, renderPlan } from '../plan/render-plan.ts';
import { renderJson } from '../render/json.ts';
import { openSession, type Session } from '../session.ts';

export interface PlanOptions extends Omit<ApplyManner, 'dryRun'> {
  readonly words: readonly string[];
  readonly files: readonly string[];
  readonly kustomize: string | undefined;
  readonly recursive: boolean;
  readonly json: boolean;
  /** `[RESOURCE/]NAME`; what is of this set and would be applied no longer is told as deleted. */
  readonly applySet: string | undefined;
}

/** A program that plans in a pipeline learns from it that there is something to apply. */
const CHANGES = 2;

/** Prints what applying files would change and cost. Changes nothing; ends with 2 when there is a change, with 1 when the server would turn something down. */
export async function plan(io: Io, target: Target, options: PlanOptions): Promise<void> {
  const [word] = options.words;
  if (word !== undefined) throw usage(`plan takes no argument, but got "${word}"; files follow -f`, 'plan');
  if (options.files.length === 0 && options.kustomize === undefined)
    throw usage('say what to plan with -f or -k', 'plan');
  const sources = await readSources(io, options, 'plan');
  if (sources.length === 0) throw new Failure(`there is no object in ${options.kustomize ?? options.files.join(', ')}`);
  await using session = await openSession(io, target);
  const placed = await placeObjects(session, sources);
  const set = options.applySet === undefined ? undefined : await ApplySet.open(session, options.applySet);
  const planned = await planObjects(session, set === undefined ? placed : placed.map(set.labelled), options);
  if (set !== undefined) planned.push(...(await planPrune(session, await set.strays(placed))));
  const { cost, currency } = await costOf(session, planned);
  io.stdout.write(
    options.json ? renderJson(planDocument(planned, cost, currency)) : renderPlan(planned, cost, currency),
  );
  for (const { about, error } of planned) if (error !== undefined) reportFailure(io, about, error);
  if (planned.some(({ action }) => action === 'refused')) throw new Exit(1);
  if (planned.some(({ action }) => action !== 'unchanged')) throw new Exit(CHANGES);
}

async function costOf(
  { client, io }: Session,
  planned: readonly PlannedObject[],
): Promise<{ cost: PlanCost; currency: string }> {
  const changes = planned.filter(({ action }) => action !== 'unchanged' && action !== 'refused');
  const overlay = changes
    .filter(({ about }) => about.resource.group === 'coppice.dev')
    .map(({ about, after }) => ({ key: objectKey(about), plural: about.resource.plural, after }));
  const { world, ...facts } = await readFacts(client, overlay, io.signal);
  const cost = planCost(changes, { nowMs: systemClock.now(), world, ...facts });
  return { cost, currency: world.get(PRICE_LISTS, undefined, 'default')?.spec.currency ?? 'USD' };
}
