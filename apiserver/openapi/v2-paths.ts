import type { Content, Operation, Parameter, PathItem } from './document.ts';
import type { V2BodyParameter, V2Operation, V2PathItem, V2PlainParameter, V2Schema } from './v2-document.ts';
import { v2Schema } from './v2-schema.ts';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

/** A path of a v3 document as v2 says it. */
export function v2PathItem(item: PathItem): V2PathItem {
  const operations = METHODS.flatMap((method) => {
    const operation = item[method];
    return operation === undefined ? [] : [[method, v2Operation(operation)] as const];
  });
  return {
    ...Object.fromEntries(operations),
    ...(item.parameters === undefined ? {} : { parameters: item.parameters.map(plain) }),
  };
}

/** v2 has one list of media types an operation, and the body among the parameters. */
function v2Operation({ requestBody, responses, parameters = [], ...rest }: Operation): V2Operation {
  const bodies = Object.values(responses).flatMap(({ content }) => Object.keys(content ?? {}));
  const all = [...(requestBody === undefined ? [] : [bodyOf(requestBody)]), ...parameters.map(plain)];
  return {
    ...rest,
    schemes: ['https'],
    consumes: requestBody === undefined ? ['*/*'] : Object.keys(requestBody.content),
    // A stream answers in what it carries.
    produces: bodies.length === 0 ? ['*/*'] : [...new Set(bodies)],
    ...(all.length === 0 ? {} : { parameters: all }),
    responses: Object.fromEntries(
      Object.entries(responses).map(([code, { description, content }]) => {
        const schema = content === undefined ? undefined : schemaOf(content);
        return [code, { description, ...(schema === undefined ? {} : { schema }) }];
      }),
    ),
  };
}

function plain({ schema, ...parameter }: Parameter): V2PlainParameter {
  return { ...parameter, type: schema.type, uniqueItems: true };
}

function bodyOf({ required, content }: NonNullable<Operation['requestBody']>): V2BodyParameter {
  return { name: 'body', in: 'body', required, schema: schemaOf(content) ?? {} };
}

/** Every media type of an answer has the same schema. */
function schemaOf(content: Content): V2Schema | undefined {
  const [first] = Object.values(content);
  return first === undefined ? undefined : v2Schema(first.schema);
}
