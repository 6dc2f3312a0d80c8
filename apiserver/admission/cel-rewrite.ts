import { type ASTNode, serialize } from '@marcbachmann/cel-js';

/**
 * A rule's text in which every list that is walked and every value that is compared passes through the meter, and
 * `matches` is the safe one. The evaluator lets neither be replaced, so the expression is.
 */
export function meteredRule(ast: ASTNode): string {
  return serialize(metered(ast));
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

function metered(node: ASTNode): ASTNode {
  switch (node.op) {
    case 'value':
    case 'id':
      return node;
    case 'rcall': {
      const [name, receiver, args] = node.args;
      const inner = args.map(metered);
      const free = UNMETERED_METHODS.has(name) || (receiver.op === 'id' && NAMESPACES.has(receiver.args));
      const to = free ? metered(receiver) : through('visit', metered(receiver));
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
        name,
        UNMETERED_CALLS.has(name) ? inner : inner.map((arg) => through('visit', arg)),
      ]);
    }
    case 'in':
      return changed(node, 'in', [metered(node.args[0]), through('weigh', metered(node.args[1]))]);
    case '==':
    case '!=':
    case '+':
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
