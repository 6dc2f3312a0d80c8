const TIME = /^([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})$/;

/** Whether a text is an instant as Kubernetes takes one where a schema says `date-time`: RFC 3339 without leap seconds. */
export function isDateTime(text: string): boolean {
  const [date = '', time = '', ...more] = text.toLowerCase().split('t');
  const match = TIME.exec(time);
  if (more.length > 0 || match === null || !isDate(date)) return false;
  const [, hour = '', minute = '', second = ''] = match;
  return hour <= '23' && minute <= '59' && second <= '59';
}

/** Whether a text is a day that exists: `2026-02-28`. */
export function isDate(text: string): boolean {
  if (!/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text)) return false;
  const time = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}
