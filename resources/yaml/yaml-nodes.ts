import {
  type AliasEvent,
  COLLECTION_STYLE,
  type DocumentEvent,
  EVENT_ID,
  type Event,
  getScalarValue,
  type MappingEvent,
  parseEvents,
  SCALAR_STYLE,
  type ScalarEvent,
  type SequenceEvent,
  YAMLException,
} from 'js-yaml';
import { YamlError } from './yaml-error.ts';

const MAX_ALIASES = 100;
/** How deep a document may nest. */
export const MAX_YAML_DEPTH = 100;

/** `line` is where a node begins, its anchor and tag included, counted from 1. */
export type YamlNode = ScalarNode | SequenceNode | MappingNode | AliasNode;

export interface ScalarNode {
  readonly kind: 'scalar';
  readonly line: number;
  readonly text: string;
  /** The whole name of its tag, `!` alone, or nothing. */
  readonly tag: string;
  /** Neither quoted nor tagged as something: what it is may be told by its looks. */
  readonly plain: boolean;
}

interface SequenceNode {
  readonly kind: 'sequence';
  readonly line: number;
  readonly items: readonly YamlNode[];
}

export interface MappingNode {
  readonly kind: 'mapping';
  readonly line: number;
  readonly pairs: readonly (readonly [key: YamlNode, value: YamlNode])[];
}

export interface AliasNode {
  readonly kind: 'alias';
  readonly line: number;
  readonly name: string;
  readonly target: YamlNode;
}

/**
 * The documents of a text, each by its root. Throws YamlError, for the grammar before the first, and where there are more than `mostNodes`
 * in all of them.
 */
export function yamlNodes(text: string, mostNodes: number = Number.POSITIVE_INFINITY): Iterable<YamlNode> {
  return new NodeReader(text, eventsOf(text, mostNodes)).documents();
}

function eventsOf(text: string, mostNodes: number): readonly Event[] {
  try {
    if (text.length < mostNodes) return parseEvents(text, { maxDepth: MAX_YAML_DEPTH });
    // The parser has no bound on nodes, and would make millions before anybody could count; but it compares its depth at nearly each.
    const options = Object.assign({ maxDepth: MAX_YAML_DEPTH }, { maxDepth: countdown(mostNodes) });
    const events = parseEvents(text, options);
    if (events.length > 2 * mostNodes) throw tooMany(mostNodes);
    return events;
  } catch (error) {
    if (error instanceof YamlError) throw error;
    // The parser says that every kind of error may come out of it.
    if (!(error instanceof YAMLException)) throw new YamlError(error instanceof Error ? error.message : String(error));
    throw new YamlError(error.reason, error.mark === undefined ? undefined : error.mark.line + 1, { cause: error });
  }
}

/** The depth allowed, which can be asked for so many times. */
function countdown(mostNodes: number): { readonly valueOf: () => number; readonly toString: () => string } {
  let left = mostNodes;
  return {
    valueOf() {
      left -= 1;
      if (left < 0) throw tooMany(mostNodes);
      return MAX_YAML_DEPTH;
    },
    toString: () => String(MAX_YAML_DEPTH),
  };
}

const tooMany = (mostNodes: number) => new YamlError(`there are more than ${mostNodes} values`);

type NodeEvent = ScalarEvent | SequenceEvent | MappingEvent;

/** Builds nodes from the events of the parser, which are well nested. */
class NodeReader {
  readonly #text: string;
  readonly #events: readonly Event[];
  readonly #lines: LineIndex;
  #next = 0;
  /** Where the last event that says so ended: what is left out stands there. */
  #end = 0;
  #aliases = 0;
  #anchors = new Map<string, YamlNode>();
  #prefixes = new Map<string, string>();

  constructor(text: string, events: readonly Event[]) {
    this.#text = text;
    this.#events = events;
    this.#lines = new LineIndex(text);
  }

  *documents(): Iterable<YamlNode> {
    for (let event = this.#take(); event !== undefined; event = this.#take()) {
      if (event.type !== EVENT_ID.DOCUMENT) throw new YamlError('a document is expected');
      this.#open(event);
      yield this.#node();
      this.#take();
    }
  }

  #open(event: DocumentEvent): void {
    this.#aliases = 0;
    this.#anchors = new Map();
    this.#prefixes = new Map([['!!', STANDARD_PREFIX]]);
    for (const directive of event.directives)
      if (directive.kind === 'tag') this.#prefixes.set(directive.handle, directive.prefix);
  }

  #take(): Event | undefined {
    return this.#events[this.#next++];
  }

  #node(): YamlNode {
    const event = this.#take();
    switch (event?.type) {
      case EVENT_ID.SCALAR:
        return this.#scalar(event);
      case EVENT_ID.SEQUENCE:
        return this.#sequence(event);
      case EVENT_ID.MAPPING:
        return this.#mapping(event);
      case EVENT_ID.ALIAS:
        return this.#alias(event);
      default:
        throw new YamlError('a value is expected');
    }
  }

  #scalar(event: ScalarEvent): ScalarNode {
    const line = this.#lineOf(event, headOf(event));
    this.#end = Math.max(this.#end, event.valueEnd, event.tagEnd, event.anchorEnd);
    const tag = event.tagStart < 0 ? '' : this.#tagOf(event);
    const plain = tag === '!' || (tag === '' && event.style === SCALAR_STYLE.PLAIN);
    const node: ScalarNode = { kind: 'scalar', line, text: getScalarValue(this.#text, event), tag, plain };
    this.#name(event, node);
    return node;
  }

  #sequence(event: SequenceEvent): SequenceNode {
    const items: YamlNode[] = [];
    const node: SequenceNode = { kind: 'sequence', line: this.#lineOf(event, event.start), items };
    // Named before it is read: what is in it may be an alias of it, which is told where it is written out.
    this.#name(event, node);
    while (!this.#closed()) items.push(this.#node());
    return node;
  }

  #mapping(event: MappingEvent): MappingNode {
    const pairs: [YamlNode, YamlNode][] = [];
    const node: MappingNode = { kind: 'mapping', line: this.#lineOf(event, event.start), pairs };
    this.#name(event, node);
    while (!this.#closed()) {
      const key = this.#node();
      this.#checkNested(key);
      pairs.push([key, this.#node()]);
    }
    return node;
  }

  /** The parser lets `a: !tag b: c` pass, which YAML does not know. */
  #checkNested(key: YamlNode): void {
    const event = this.#events[this.#next];
    if (event?.type !== EVENT_ID.MAPPING || event.style !== COLLECTION_STYLE.BLOCK) return;
    if (this.#lines.lineAt(event.start) === key.line)
      throw new YamlError('mapping values are not allowed in this context', key.line);
  }

  #alias(event: AliasEvent): AliasNode {
    const line = this.#lines.lineAt(event.anchorStart);
    this.#end = event.anchorEnd;
    const name = this.#text.slice(event.anchorStart, event.anchorEnd);
    const target = this.#anchors.get(name);
    if (target === undefined) throw new YamlError(`unknown anchor '${name}' referenced`, line);
    this.#aliases += 1;
    if (this.#aliases > MAX_ALIASES) throw new YamlError(`there are more than ${MAX_ALIASES} aliases`, line);
    return { kind: 'alias', line, name, target };
  }

  #closed(): boolean {
    if (this.#events[this.#next]?.type !== EVENT_ID.POP) return false;
    this.#next += 1;
    return true;
  }

  #name(event: NodeEvent, node: YamlNode): void {
    if (event.anchorStart >= 0) this.#anchors.set(this.#text.slice(event.anchorStart, event.anchorEnd), node);
  }

  #tagOf(event: NodeEvent): string {
    const raw = this.#text.slice(event.tagStart, event.tagEnd);
    if (raw.startsWith('!<')) return raw.slice(2, -1);
    const handle = raw.slice(0, raw.indexOf('!', 1) + 1) || '!';
    return (this.#prefixes.get(handle) ?? handle) + raw.slice(handle.length);
  }

  #lineOf({ anchorStart, tagStart }: NodeEvent, start: number): number {
    let from = start;
    if (tagStart >= 0 && (from < 0 || tagStart < from)) from = tagStart;
    if (anchorStart >= 0 && (from < 0 || anchorStart < from)) from = anchorStart;
    return this.#lines.lineAt(from < 0 ? this.#end : from);
  }
}

/** What `!!` stands for. */
export const STANDARD_PREFIX = 'tag:yaml.org,2002:';

/** Where a scalar begins: of a block its `|` or `>`, which is on the line before its text. */
function headOf({ style, valueStart }: ScalarEvent): number {
  const isBlock = style === SCALAR_STYLE.LITERAL_BLOCK || style === SCALAR_STYLE.FOLDED_BLOCK;
  return isBlock ? valueStart - 1 : valueStart;
}

/** The line an offset of a text is on. Offsets are asked for in almost rising order, so it goes on from the last one. */
class LineIndex {
  readonly #text: string;
  #offset = 0;
  #line = 1;

  constructor(text: string) {
    this.#text = text;
  }

  lineAt(offset: number): number {
    const step = offset < this.#offset ? -1 : 1;
    const [from, to] = step > 0 ? [this.#offset, offset] : [offset, this.#offset];
    for (let at = from; at < to; at++) if (this.#endsLine(at)) this.#line += step;
    this.#offset = offset;
    return this.#line;
  }

  #endsLine(at: number): boolean {
    const code = this.#text.charCodeAt(at);
    return code === 10 || (code === 13 && this.#text.charCodeAt(at + 1) !== 10);
  }
}
