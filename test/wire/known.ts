/** Cases that are known not to match, and why; by file. A case that matches may not stand here. */
export const KNOWN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  list: {},
  watch: {},
  negotiation: {
    'verb-unknown': 'a method that is none of HTTP ends in a 400 of the parser of HTTP',
  },
  options: {},
  builtins: {
    'crd-life':
      'a definition is Established in the write that makes it; on the recorded server a second write says so, which is a version more',
  },
};
