import { type ASTNode, serialize } from '@marcbachmann/cel-js';

/**
 * A rule's text in which every list that is walked and every value that is compared passes through the meter, and
 * `matches` is the safe one. The evaluator lets neither be replaced, so the expression is.
 */
export function meteredRule(ast: ASTNode): string {
  return serialize(metered(ast));
}

/** How many steps an expression is long: what evaluating it once takes, loops aside. */
export function lengthOf(node: ASTNode): number {
  return childrenOf(node).reduce((sum, child) => sum + lengthOf(child), 1);
}

/**
 * Takes the places out of an expression that is run. An error in it shows the text up to its place, which would make errors that a
 * quantifier swallows as dear as the text is long.
 */
export function withoutPlaces(node: ASTNode): void {
  Object.assign(node, { pos: undefined, start: undefined, end: undefined });
  for (const child of childrenOf(node)) withoutPlaces(child);
}

/** Whether an expression reads a variable. */
export function mentions(node: ASTNode, variable: string): boolean {
  if (node.op === 'id') return node.args === variable;
  return childrenOf(node).some((child) => mentions(child, variable));
}

/** The patterns given to `matches` and its like as literals. */
export function literalPatterns(node: ASTNode): string[] {
  const own = node.op === 'rcall' && PATTERN_METHODS.has(node.args[0]) ? node.args[2] : [];
  const literals = own.flatMap((arg) => (arg.op === 'value' && typeof arg.args === 'string' ? [arg.args] : []));
  return [...literals, ...childrenOf(node).flatMap(literalPatterns)];
}

const PATTERN_METHODS: ReadonlySet<string> = new Set(['matches', 'find', 'findAll']);
// These look at the shape of the expression or take an optional, so their receiver stays what it is.
const UNMETERED_METHODS: ReadonlySet<string> = new Set(['or', 'orValue', 'value', 'hasValue', 'optMap', 'optFlatMap']);
const UNMETERED_CALLS: ReadonlySet<string> = new Set(['has', 'type', 'dyn']);
const NAMESPACES: ReadonlySet<string> = new Set(['cel', 'optional']);
/** Functions that are written with a namespace in front, which may also be the name of a variable: `ip.isCanonical`, by what is asked of it. */
const NAMESPACED: ReadonlyMap<string, (name: string, args: number) => boolean> = new Map([
  ['ip', (name, args) => name === 'isCanonical' && args === 1],
  ['strings', (name, args) => name === 'quote' && args === 1],
  ['sets', (_, args) => args === 2],
  ['format', (name, args) => (name === 'named' ? args === 1 : args === 0 && name !== 'size')],
]);
/** Methods whose receiver costs more than going over it once, by what pays for it. */
const DEAR_RECEIVERS: ReadonlyMap<string, string> = new Map([
  ['split', 'spread'],
  ['size', 'spread'],
  ['join', 'weigh'],
]);
const ZONED = /^get(?:Date|DayOfMonth|DayOfWeek|DayOfYear|FullYear|Hours|Milliseconds|Minutes|Month|Seconds)$/;

function metered(node: ASTNode): ASTNode {
  switch (node.op) {
    case 'value':
    case 'id':
      return node;
    case 'rcall': {
      const [name, receiver, args] = node.args;
      const inner = args.map(metered);
      if (isLoop(name, args)) return changed(node, 'rcall', [name, walked(node, metered(receiver), args), inner]);
      const free = UNMETERED_METHODS.has(name) || isNamespace(receiver, name, args.length);
      const to = free ? metered(receiver) : through(payment(name, args.length), metered(receiver));
      return changed(node, 'rcall', [name === 'matches' ? 're2matches' : name, to, inner]);
    }
    case 'call': {
      const [name, args] = node.args;
      const inner = args.map(metered);
      const [text, pattern] = inner;
      if (name === 'matches' && text !== undefined && pattern !== undefined) {
        return changed(node, 'rcall', ['re2matches', text, [pattern]]);
      }
      return changed(node, 'call', [
        name === 'duration' ? 'safeDuration' : name,
        UNMETERED_CALLS.has(name) ? inner : inner.map((arg) => through(DEAR_RECEIVERS.get(name) ?? 'visit', arg)),
      ]);
    }
    case 'in':
      return changed(node, 'in', [metered(node.args[0]), through('weigh', metered(node.args[1]))]);
    case '==':
    case '!=':
    case '+':
    case '<':
    case '<=':
    case '>':
    case '>=':
      return changed(node, node.op, weighed(node.args));
    case '.':
    case '.?':
      return changed(node, node.op, [metered(node.args[0]), node.args[1]]);
    case 'map':
      return changed(
        node,
        'map',
        node.args.map(([key, value]) => [metered(key), metered(value)]),
      );
    case 'list':
      return changed(node, 'list', node.args.map(metered));
    case '!_':
    case '-_':
      return changed(node, node.op, metered(node.args));
    default:
      return changed(node, node.op, node.args.map(metered));
  }
}

const LOOPS: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'map', 'filter']);
/** What an item costs besides what is done with it; more than a step, since what fails in a quantifier is an error made. */
const STEPS_AN_ITEM = 6;

function isLoop(name: string, [variable, ...body]: readonly ASTNode[]): boolean {
  return LOOPS.has(name) && variable?.op === 'id' && body.length > 0;
}

/** A list that is walked is paid for as often as its loop is long. */
function walked(node: ASTNode, list: ASTNode, args: readonly ASTNode[]): ASTNode {
  const steps = args.reduce((sum, arg) => sum + lengthOf(arg), STEPS_AN_ITEM);
  return changed(node, 'call', ['walk', [list, changed(node, 'value', BigInt(steps))]]);
}

function isNamespace(receiver: ASTNode, name: string, args: number): boolean {
  if (receiver.op !== 'id') return false;
  return NAMESPACES.has(receiver.args) || NAMESPACED.get(receiver.args)?.(name, args) === true;
}

/** What the receiver of a method goes through. */
function payment(name: string, args: number): string {
  if (args === 1 && ZONED.test(name)) return 'zoned';
  return DEAR_RECEIVERS.get(name) ?? 'visit';
}

/** Comparing with a literal takes no longer than the literal is. */
function weighed([left, right]: readonly [ASTNode, ASTNode]): readonly ASTNode[] {
  if (left.op === 'value' || right.op === 'value') return [metered(left), metered(right)];
  return [through('weigh', metered(left)), through('weigh', metered(right))];
}

function through(call: string, node: ASTNode): ASTNode {
  return node.op === 'value' ? node : changed(node, 'call', [call, [node]]);
}

/** The node with another operator and operands; the parser's own stays as it is. */
function changed(node: ASTNode, op: string, args: unknown): ASTNode {
  const copy: ASTNode = Object.create(node, { op: { value: op }, args: { value: args } });
  return copy;
}

function childrenOf(node: ASTNode): readonly ASTNode[] {
  switch (node.op) {
    case 'value':
    case 'id':
      return [];
    case '.':
    case '.?':
      return [node.args[0]];
    case 'call':
      return node.args[1];
    case 'rcall':
      return [node.args[1], ...node.args[2]];
    case 'map':
      return node.args.flat();
    case '!_':
    case '-_':
      return [node.args];
    default:
      return node.args;
  }
}
