import type { ApiClient } from '../../apiserver/client/client.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import { parseDuration } from '../../resources/meta/duration.ts';
import { labelProblems } from '../../resources/meta/names.ts';
import { isObject, type KubeObject } from '../../resources/meta/object.ts';
import type { Target } from '../coppice-command.ts';
import { Failure, usage } from '../failure.ts';
import { type Io, printLine, warn } from '../io.ts';
import { mintToken } from '../minted-token.ts';
import { openSession } from '../session.ts';
import { HOSTS } from '../vm-ref.ts';

export interface HostTokenOptions {
  readonly words: readonly string[];
  readonly group: string | undefined;
  /** `KEY=VALUE` each. */
  readonly labels: readonly string[];
  readonly expires: string | undefined;
  /** As many hosts with a number after the name. */
  readonly count: number | undefined;
}

const API_VERSION = 'coppice.dev/v1';
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Tokens made at the same time. */
const AT_ONCE = 8;

/** Makes a token for each host, and the Hosts that are not there. Prints a line for each, in order, when all are made. */
export async function makeHostTokens(io: Io, target: Target, options: HostTokenOptions): Promise<void> {
  const names = namesOf(options);
  const expirationSeconds = secondsOf(options.expires);
  const spec = expirationSeconds === undefined ? {} : { expirationSeconds };
  const labels = labelsOf(options.labels);
  await using session = await openSession(io, target);
  const { client } = session;
  const tokens: string[] = [];
  for (let at = 0; at < names.length; at += AT_ONCE) {
    const some = names.slice(at, at + AT_ONCE).map(async (name) => {
      await makeHost(io, client, name, options.group, { 'kubernetes.io/hostname': name, ...labels });
      return mintToken(client, { resource: HOSTS, name, kind: 'HostToken', spec }, io.signal);
    });
    tokens.push(...(await Promise.all(some)));
  }
  for (const token of tokens) printLine(io, token);
}

function namesOf({ words, count }: HostTokenOptions): readonly string[] {
  const [name, extra] = words;
  if (name === undefined || extra !== undefined) throw usage('name one host', 'host token');
  const names = count === undefined ? [name] : Array.from({ length: count }, (_, i) => `${name}-${i + 1}`);
  const wrong = names.find((each) => labelProblems(each).length > 0);
  if (wrong !== undefined)
    throw new Failure(`a host cannot be called "${wrong}": at most 63 lowercase letters, digits and dashes`);
  return names;
}

function secondsOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = parseDuration(text);
  if (ms === undefined || ms < MINUTE_MS || ms > DAY_MS)
    throw new Failure(`--expires is "${text}", which is not from 1m to 24h`, { hint: 'such as 30m, or 2h' });
  return ms / 1000;
}

function labelsOf(texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const [, key, value] = /^([^=]+)=(.*)$/.exec(text) ?? [];
      if (key === undefined || value === undefined) throw new Failure(`--label is "${text}", which is not KEY=VALUE`);
      return [key, value];
    }),
  );
}

async function makeHost(
  io: Io,
  client: ApiClient,
  name: string,
  group: string | undefined,
  labels: Record<string, string>,
): Promise<void> {
  const hosts = client.resource<KubeObject>(HOSTS);
  const spec = group === undefined ? {} : { group };
  const wish = { apiVersion: API_VERSION, kind: 'Host', metadata: { name, labels }, spec };
  try {
    await hosts.create(wish, { fieldManager: 'coppice' }, io.signal);
  } catch (error) {
    if (!(error instanceof ApiError) || error.reason !== 'AlreadyExists') throw error;
    const there = (await hosts.get(name, io.signal)).spec;
    const current = isObject(there) ? there.group : undefined;
    if (group !== undefined && current !== group)
      warn(io, `Host ${name} is in group ${String(current)} already, and stays there`);
  }
}
