import { Failure, usage } from './failure.ts';

/** The one host a command is about: `NAME`, or `host/NAME` as kubectl users write it. */
export function hostName(words: readonly string[], verb: string): string {
  const [word, extra] = words;
  if (word === undefined) throw usage('name the host', verb);
  if (extra !== undefined) throw usage(`one host at a time, but got "${word}" and "${extra}"`, verb);
  const name = word.replace(/^(mac|hosts?(\.coppice\.dev)?)\//, '');
  if (name === '' || name.includes('/')) throw new Failure(`"${word}" is not the name of a host`);
  return name;
}
