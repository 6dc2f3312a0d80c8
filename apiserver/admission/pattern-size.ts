const CLASS_OF_SCRIPT = 20;

interface Group {
  total: number;
  last: number;
}

/**
 * About how many steps the program of a pattern has, told without compiling it: repetitions count as if they were written out, one within
 * another too. Of a text that is no pattern it answers something.
 */
export function patternSize(pattern: string): number {
  const groups: Group[] = [{ total: 0, last: 0 }];
  const atom = (group: Group, size: number) => {
    group.total += size;
    group.last = size;
  };
  for (let i = 0; i < pattern.length; ) {
    const group = groups.at(-1) as Group;
    const c = pattern[i];
    if (c === '(') {
      groups.push({ total: 1, last: 0 });
      i++;
    } else if (c === ')') {
      if (groups.length > 1) groups.pop();
      atom(groups.at(-1) as Group, group.total + 1);
      i++;
    } else if (c === '[') {
      atom(group, 1);
      i = endOfClass(pattern, i);
    } else if (c === '\\') {
      atom(group, /^\\[pP]/.test(pattern.slice(i, i + 2)) ? CLASS_OF_SCRIPT : 1);
      i += 2;
    } else {
      const [all, least, most] = (c === '{' && REPETITION.exec(pattern.slice(i, i + 12))) || [];
      if (all === undefined) atom(group, 1);
      else repeat(group, Math.max(1, Number(most || least)));
      i += all?.length ?? 1;
    }
  }
  return groups.reduce((sum, { total }) => sum + total, 0);
}

const REPETITION = /^\{([0-9]+)(?:,([0-9]*))?\}/;

function repeat(group: Group, times: number): void {
  group.total += group.last * (times - 1);
  group.last *= times;
}

/** The place after a class that begins there. */
function endOfClass(pattern: string, from: number): number {
  let i = from + 1;
  if (pattern[i] === '^') i++;
  if (pattern[i] === ']') i++;
  while (i < pattern.length && pattern[i] !== ']') i += pattern[i] === '\\' ? 2 : 1;
  return i + 1;
}
