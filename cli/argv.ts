/** Flags every command has, as they may stand before the verb: those with a value, and those without. */
const WITH_VALUE = new Set([
  '-n',
  '--namespace',
  '--kubeconfig',
  '--context',
  '--home',
  '-o',
  '--output',
  '-l',
  '--selector',
]);
/** First words of verbs of two. */
const TOPICS = new Set(['host', 'images']);
const WITHOUT_VALUE = new Set(['-A', '--all-namespaces', '-y', '--yes']);

/**
 * The arguments with the verb first: flags that stand before it move behind it, so that `coppice -n demo get vms` means
 * `coppice get vms -n demo`. `help VERB` becomes `VERB --help`, and `-h` is `--help`. What follows `--` is left alone.
 */
export function verbFirst(argv: readonly string[]): string[] {
  const end = argv.indexOf('--');
  const ours = argv.slice(0, end < 0 ? argv.length : end).map((arg) => (arg === '-h' ? '--help' : arg));
  const theirs = end < 0 ? [] : argv.slice(end);
  let at = 0;
  while (at < ours.length) {
    const arg = ours[at] ?? '';
    if (WITH_VALUE.has(arg)) at += 2;
    else if (WITHOUT_VALUE.has(arg) || /^(-[no]=?.+|--[a-z-]+=.*)$/.test(arg)) at += 1;
    else break;
  }
  if (at >= ours.length) return [...argv];
  const leading = ours.slice(0, at);
  const [verb, ...rest] = ours.slice(at);
  if (verb === undefined) return [...argv];
  if (verb === 'help') return rest.length === 0 ? ['--help'] : [...rest, '--help'];
  // Two words make one verb for these; the flags go behind both.
  const words = TOPICS.has(verb) && rest[0] !== undefined && !rest[0].startsWith('-') ? [verb, rest[0]] : [verb];
  return [...words, ...rest.slice(words.length - 1), ...leading, ...theirs];
}

/** The two sides of `--`. `command` is undefined where there is none. */
export function splitAtDashes(argv: readonly string[]): { ours: string[]; command: string[] | undefined } {
  const at = argv.indexOf('--');
  return at < 0 ? { ours: [...argv], command: undefined } : { ours: argv.slice(0, at), command: argv.slice(at + 1) };
}
