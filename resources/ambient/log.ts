type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** Structured logging: a constant message and fields. Info is a change in the world, debug a decision not to act. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  child(fields: LogFields): Logger;
}

/** Says nothing. */
export const silentLogger: Logger = {
  debug() {},
  info() {},
  error() {},
  child: () => silentLogger,
};

/** Writes one line an entry through `write`: time, level, message, fields as key=value. */
export function lineLogger(
  write: (line: string) => void,
  now: () => number,
  level: 'debug' | 'info' | 'error' = 'info',
  fields: LogFields = {},
): Logger {
  const rank = { debug: 0, info: 1, error: 2 };
  const put = (at: keyof typeof rank, message: string, extra: LogFields = {}) => {
    if (rank[at] < rank[level]) return;
    const pairs = Object.entries({ ...fields, ...extra })
      .filter(([, v]) => v !== undefined)
      .map(([k, v]) => ` ${k}=${typeof v === 'string' && /[\s"=]/.test(v) ? JSON.stringify(v) : v}`);
    write(`${new Date(now()).toISOString()} ${at} ${message}${pairs.join('')}`);
  };
  return {
    debug: (m, f) => put('debug', m, f),
    info: (m, f) => put('info', m, f),
    error: (m, f) => put('error', m, f),
    child: (f) => lineLogger(write, now, level, { ...fields, ...f }),
  };
}
