import { ApiError } from '../../resources/meta/api-error.ts';
import { labelValueProblems, qualifiedNameProblems } from '../../resources/meta/names.ts';
import { goQuote } from '../admission/go-format.ts';
import { isInt64, type LabelOperator, type LabelRequirement } from './label-selector.ts';

interface Token {
  readonly kind: 'word' | 'end' | '(' | ')' | ',' | '!' | 'operator';
  readonly text: string;
}

const OPERATORS: Readonly<Record<string, LabelOperator>> = {
  '=': '=',
  '==': '==',
  '!=': '!=',
  in: 'in',
  notin: 'notin',
  '>': 'gt',
  '<': 'lt',
};
const OPERATOR_LIST = 'in, notin, =, ==, !=, gt, lt';
const TOKEN = /\s*(==|!=|[=<>!(),]|[^\s=<>!(),]+)/y;

/** Reads the query form of a label selector. Its refusals are worded as kubectl's users know them. */
export class LabelSelectorParser {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(text: string) {
    this.#tokens = tokensOf(text);
  }

  requirements(): LabelRequirement[] {
    const found: LabelRequirement[] = [];
    if (this.#peek().kind === 'end') return found;
    if (!this.#startsRequirement())
      throw refusal(`found '${this.#peek().text}', expected: !, identifier, or 'end of string'`);
    for (;;) {
      found.push(this.#requirement());
      const next = this.#take();
      if (next.kind === 'end') return found;
      if (next.kind !== ',') throw refusal(`found '${next.text}', expected: ',' or 'end of string'`);
      if (!this.#startsRequirement()) throw refusal(`found '${this.#peek().text}', expected: identifier after ','`);
    }
  }

  #startsRequirement(): boolean {
    return this.#wordLike() || this.#peek().kind === '!';
  }

  /** Where a name or value may stand, `in` and `notin` are words like others. */
  #wordLike(): boolean {
    const { kind, text } = this.#peek();
    return kind === 'word' || (kind === 'operator' && /^(not)?in$/.test(text));
  }

  #requirement(): LabelRequirement {
    const negated = this.#peek().kind === '!';
    if (negated) this.#at++;
    const key = this.#word();
    const [problem] = qualifiedNameProblems(key);
    if (problem !== undefined) throw badRequirement(`<nil>: Invalid value: ${goQuote(key)}: ${problem}`);
    const next = this.#peek();
    if (negated) return { key, operator: '!', values: [] };
    if (next.kind === 'end' || next.kind === ',') return { key, operator: 'exists', values: [] };
    const operator = this.#operator();
    const values = operator === 'in' || operator === 'notin' ? this.#list() : [this.#optionalWord()];
    return checked({ key, operator, values: [...new Set(values)].sort() });
  }

  #operator(): LabelOperator {
    const { kind, text } = this.#take();
    const operator = OPERATORS[text];
    if (kind !== 'operator' || operator === undefined)
      throw badRequirement(`found '${text}', expected: ${OPERATOR_LIST}`);
    return operator;
  }

  #word(): string {
    if (!this.#wordLike()) throw badRequirement(`found '${this.#peek().text}', expected: identifier`);
    return this.#take().text;
  }

  #optionalWord(): string {
    const { kind } = this.#peek();
    return kind === 'end' || kind === ',' ? '' : this.#word();
  }

  /** `(a,b)`; nothing between commas is the empty value. */
  #list(): string[] {
    const open = this.#take();
    if (open.kind !== '(') throw badRequirement(`found '${open.text}' expected: '('`);
    const values: string[] = [];
    for (;;) {
      if (this.#wordLike()) values.push(this.#take().text);
      else if (this.#peek().kind === ',' || this.#peek().kind === ')') values.push('');
      else throw badRequirement(`found '${this.#peek().text}', expected: ',', ')' or identifier`);
      const next = this.#take();
      if (next.kind === ')') return values;
      if (next.kind !== ',') throw badRequirement(`found '${next.text}', expected: ',' or ')'`);
    }
  }

  #peek(): Token {
    return this.#tokens[this.#at] ?? END;
  }

  #take(): Token {
    const token = this.#peek();
    this.#at++;
    return token;
  }
}

const END: Token = { kind: 'end', text: '' };

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(text); match !== null; match = TOKEN.exec(text)) tokens.push(tokenOf(match[1] ?? ''));
  return tokens;
}

function tokenOf(text: string): Token {
  if (text === '(' || text === ')' || text === ',' || text === '!') return { kind: text, text };
  return { kind: Object.hasOwn(OPERATORS, text) ? 'operator' : 'word', text };
}

function checked(requirement: LabelRequirement): LabelRequirement {
  const { operator, values } = requirement;
  if (operator === 'gt' || operator === 'lt') {
    const [bound = ''] = values;
    if (!isInt64(bound)) {
      throw badRequirement(
        `values[0]: Invalid value: ${goQuote(bound)}: for 'Gt', 'Lt' operators, the value must be an integer`,
      );
    }
    return requirement;
  }
  for (const [i, value] of values.entries()) {
    const [problem] = labelValueProblems(value);
    if (problem !== undefined) {
      throw badRequirement(`values[${i}][${requirement.key}]: Invalid value: ${goQuote(value)}: ${problem}`);
    }
  }
  return requirement;
}

const refusal = (why: string) => new ApiError('BadRequest', why);
const badRequirement = (why: string) => refusal(`unable to parse requirement: ${why}`);
