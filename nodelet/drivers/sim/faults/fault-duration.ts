const MS = /^(?=.)(?:(\d{1,5})h)?(?:(\d{1,7})m)?(?:(\d{1,9})s)?(?:(\d{1,12})ms)?$/;
const TIME = '(?=[0-9])([0-9]{1,5}h)?([0-9]{1,7}m)?([0-9]{1,9}s)?([0-9]{1,12}ms)?';

/** `10s`, `1m30s`, `250ms`; or two of them, `10s..30s`. */
export const SPAN_PATTERN = `^${TIME}(\\.\\.${TIME})?$`;
/** `90s`, `+90s`, `-90s`. */
export const STEP_PATTERN = `^[+-]?${TIME}$`;

/** Milliseconds of a time that `SPAN_PATTERN` lets pass; of two the one that `chance`, from 0 up to 1, draws. */
export function spanMs(text: string, chance: () => number): number {
  const [least, most] = spanBounds(text);
  return least === most ? least : Math.round(least + chance() * (most - least));
}

/** Both ends of a span in milliseconds; the same twice where there is one. */
export function spanBounds(text: string): readonly [least: number, most: number] {
  const [from = '', to = from] = text.split('..');
  return [timeMs(from), timeMs(to)];
}

/** Milliseconds of a step, with its sign. */
export function stepMs(text: string): number {
  const ms = timeMs(text.replace(/^[+-]/, ''));
  return text.startsWith('-') ? -ms : ms;
}

function timeMs(text: string): number {
  const match = MS.exec(text);
  if (match === null) throw new RangeError(`"${text}" is not a duration`);
  const [h = 0, m = 0, s = 0, ms = 0] = match.slice(1).map((part) => Number(part ?? 0));
  return ((h * 60 + m) * 60 + s) * 1000 + ms;
}
