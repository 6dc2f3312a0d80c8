import type { Bound, CostLine } from '../../resources/costs/cost-line.ts';
import { exactMoney, hourMoney, type Micros, roughMoney } from '../../resources/costs/money.ts';
import type { PlanCost } from '../../resources/costs/plan-cost.ts';
import { MONTH_HOURS } from '../../resources/costs/tenant-months.ts';
import { encodeJson } from '../../resources/meta/json.ts';
import { apiVersionOf } from '../../resources/meta/resource-id.ts';
import { objectName, typeName } from '../render/name.ts';
import { alignColumns, oneLine, renderTable } from '../render/table.ts';
import type { FieldChange } from './field-changes.ts';
import type { PlannedObject } from './plan-objects.ts';

const SIGNS: Readonly<Record<Bound, string>> = { exactly: '', atLeast: '≥ ', atMost: '≤ ', about: '~ ' };
const WORDS: Readonly<Record<Bound, string>> = {
  exactly: '',
  atLeast: 'at least ',
  atMost: 'at most ',
  about: 'about ',
};

/** What costs at most less than nothing saves at least that. */
const TURNED: Partial<Record<Bound, Bound>> = { atLeast: 'atMost', atMost: 'atLeast' };

/** The plan for people: a line for each object in kubectl's words, the fields that change, and what it costs. */
export function renderPlan(planned: readonly PlannedObject[], cost: PlanCost, currency: string): string {
  const objects = planned.map(renderObject);
  return `${objects.join('')}\n${renderCost(cost, currency)}${renderSums(planned, cost, currency)}${renderMonths(cost, currency)}`;
}

function renderObject({ about, action, fields, error }: PlannedObject): string {
  const where = about.namespace === undefined ? '' : ` (in ${about.namespace})`;
  const rows = fields.map(({ path, before, after }) => ['', `${path}:`, `${shown(before)} → ${shown(after)}`]);
  const why = error === undefined ? '' : `: ${oneLine(error.message)}`;
  return `${objectName(about.resource, about.name)} ${action}${where}${why}\n${alignColumns(rows, 2)}`;
}

function shown(value: FieldChange['before']): string {
  if (value === undefined) return '(not set)';
  const text = typeof value === 'string' ? value : encodeJson(value);
  return text === '' ? '""' : oneLine(text);
}

function renderCost({ lines }: PlanCost, currency: string): string {
  if (lines.length === 0) return '';
  const headers = ['Costs', 'Namespace', `${currency} an hour`, 'a day', 'at once', ''];
  const rows = lines.map((line) => [
    `${line.kind}/${line.name}`,
    line.namespace ?? '',
    `${SIGNS[line.bound]}${hourMoney(line.perHour)}`,
    roughMoney(perDay(line.perHour)),
    line.atOnce === 0n ? '-' : `${SIGNS[line.atOnceBound ?? 'exactly']}${roughMoney(line.atOnce)}`,
    line.note,
  ]);
  return `${renderTable(headers, rows)}\n`;
}

function renderSums(planned: readonly PlannedObject[], cost: PlanCost, currency: string): string {
  const count = (action: string) => planned.filter((each) => each.action === action).length;
  const counts = ['created', 'configured', 'unchanged', 'deleted', 'refused']
    .map((action) => ({ action, n: count(action) }))
    .filter(({ n }) => n > 0)
    .map(({ action, n }) => `${n} ${action}`);
  const sums = `Plan: ${counts.join(', ')}.\n`;
  if (cost.lines.length === 0) return `${sums}It changes nothing of what is paid.\n`;
  const saves = cost.perHour < 0n;
  const word = WORDS[saves ? (TURNED[cost.bound] ?? cost.bound) : cost.bound];
  const amount = (micros: Micros) => `${roughMoney(micros < 0n ? -micros : micros)} ${currency}`;
  const rate = `${saves ? 'It saves' : 'It costs'} ${word}${hourMoney(cost.perHour < 0n ? -cost.perHour : cost.perHour)} ${currency} an hour, ${amount(perDay(cost.perHour))} a day`;
  const owed =
    cost.atOnce === 0n
      ? 'nothing is owed at once'
      : `${WORDS[cost.atOnceBound]}${amount(cost.atOnce)} are owed at once`;
  const froms = cost.lines.flatMap(({ from }) => from ?? []).sort();
  const from = froms.length === 0 ? '' : ` Not all of it begins at once: the last of it at ${froms.at(-1)}.`;
  return `${sums}${rate}; ${owed}.${from}\n`;
}

/** What each tenant pays in a month beside its budget. */
function renderMonths({ months }: PlanCost, currency: string): string {
  const texts = months.map(({ tenant, budget, perHour, perMonth, bound }) => {
    const over = perMonth - budget;
    const isOver = over > 0n ? `: ${WORDS[bound]}${roughMoney(over)} over it` : '';
    const sum = `${MONTH_HOURS} h at ${hourMoney(perHour)}`;
    return `A month of ${tenant} comes to ${WORDS[bound]}${roughMoney(perMonth)} ${currency} (${sum}), of a budget of ${roughMoney(budget)}${isOver}.\n`;
  });
  return texts.join('');
}

const perDay = (perHour: Micros): Micros => perHour * 24n;

/** The plan for programs. Amounts are decimal texts, exact to the millionth. */
export function planDocument(planned: readonly PlannedObject[], cost: PlanCost, currency: string): object {
  return {
    changes: planned.map(({ about, action, fields, error }) => ({
      apiVersion: apiVersionOf(about.resource),
      kind: about.resource.kind,
      type: typeName(about.resource),
      namespace: about.namespace,
      name: about.name,
      action,
      file: 'source' in about ? about.source.file : undefined,
      fields,
      error: error === undefined ? undefined : { reason: error.reason, message: error.message },
    })),
    cost: {
      currency,
      perHour: exactMoney(cost.perHour),
      perDay: exactMoney(perDay(cost.perHour)),
      atOnce: exactMoney(cost.atOnce),
      bound: cost.bound,
      atOnceBound: cost.atOnceBound,
      lines: cost.lines.map(lineDocument),
      months: cost.months.map(({ budget, perHour, perMonth, ...month }) => ({
        ...month,
        budget: exactMoney(budget),
        perHour: exactMoney(perHour),
        perMonth: exactMoney(perMonth),
      })),
    },
  };
}

function lineDocument({ perHour, atOnce, ...line }: CostLine): object {
  return {
    ...line,
    perHour: exactMoney(perHour),
    perDay: exactMoney(perDay(perHour)),
    atOnce: exactMoney(atOnce),
  };
}
