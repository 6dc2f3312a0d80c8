import { DUTY_NAMES, type DutyName } from '../../../controllers/duties.ts';
import { Failure } from '../../failure.ts';

/** Who said which home it is: `--home`, `$COPPICE_HOME`, or nobody. */
type HomeFrom = 'flag' | 'environment' | 'default';

/** What `coppice controllers` was asked for, with defaults filled in. */
export interface ControllersProcessOptions {
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  /** Instead of the one server that the kubeconfig names: any of these, at least one when given. */
  readonly servers: readonly string[];
  /** Undefined: all. */
  readonly only: readonly DutyName[] | undefined;
  readonly home: string;
  readonly homeFrom: HomeFrom;
  /** Of health over plain HTTP on loopback; undefined: none. 0 is any free one. */
  readonly healthPort: number | undefined;
}

/** Checks the flags and fills in defaults. Throws a `Failure` that names the flag. */
export function controllersOptions(flags: {
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  readonly server: readonly string[] | undefined;
  readonly only: string | undefined;
  readonly home: string;
  readonly homeFrom: HomeFrom;
  readonly healthPort: number | undefined;
}): ControllersProcessOptions {
  const { server = [], only, ...rest } = flags;
  for (const url of server) checkServer(url);
  return { ...rest, servers: server, only: only === undefined ? undefined : dutiesIn(only) };
}

function checkServer(url: string): void {
  if (/^https:\/\/[^/?#@\s]+\/?$/.test(url) && URL.canParse(url)) return;
  throw new Failure(`--server "${url}" is not https://HOST:PORT`, { hint: 'give --server once for each of several' });
}

function dutiesIn(text: string): readonly DutyName[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !DUTY_NAMES.some((duty) => duty === name));
  if (unknown !== undefined)
    throw new Failure(`--only: there is no duty "${unknown}"`, { hint: `the duties are ${DUTY_NAMES.join(', ')}` });
  return DUTY_NAMES.filter((duty) => names.includes(duty));
}
