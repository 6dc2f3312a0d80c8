import { Failure, usage } from './failure.ts';

/**
 * How the one object a command is about is read: `NAME`, or with the type before it as kubectl users write it, which `prefix` matches. `what` is what people
 * call one.
 */
export function oneName(what: string, prefix: RegExp): (words: readonly string[], verb: string) => string {
  return ([word, extra], verb) => {
    if (word === undefined) throw usage(`name the ${what}`, verb);
    if (extra !== undefined) throw usage(`one ${what} at a time, but got "${word}" and "${extra}"`, verb);
    const name = word.replace(prefix, '');
    if (name === '' || name.includes('/')) throw new Failure(`"${word}" is not the name of a ${what}`);
    return name;
  };
}
