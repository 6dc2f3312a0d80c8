import { rfc3339 } from '../../resources/ambient/clock.ts';
import { entry } from '../../resources/meta/map-entry.ts';
import type { JsonObject } from '../../resources/meta/object.ts';
import { CORE_MESSAGES } from './core-messages.ts';
import { DEFINITION_MESSAGES } from './definition-messages.ts';
import { type MessageFields, messageFields } from './message-table.ts';
import { META_MESSAGES } from './meta-messages.ts';
import { REVIEW_MESSAGES } from './review-messages.ts';

const TABLES = { ...META_MESSAGES, ...CORE_MESSAGES, ...REVIEW_MESSAGES, ...DEFINITION_MESSAGES };

/** A message whose bytes we read. */
export type MessageName = keyof typeof TABLES;

const read = new Map<string, MessageFields>();

/** The fields of a message. A table is read when it is first needed: most servers need few. */
export function fieldsOf(message: string): MessageFields {
  return entry(read, message, () => {
    const table = (TABLES as Readonly<Record<string, string>>)[message];
    if (table === undefined) throw new Error(`no message ${message}`);
    return messageFields(table);
  });
}

/** The names of all messages. */
export const MESSAGE_NAMES = Object.keys(TABLES) as readonly MessageName[];

/** Messages that are no object in JSON: what stands there instead. Undefined leaves the field out. */
export const SHAPES: Readonly<Record<string, ((message: JsonObject) => unknown) | undefined>> = {
  Time: (time) => instantOf(time)?.seconds,
  MicroTime: (time) => instantOf(time)?.micros,
  FieldsV1: ({ raw }) => raw ?? null,
  JSON: ({ raw }) => raw ?? null,
  ExtraValue: ({ items }) => items ?? [],
  JSONSchemaPropsOrBool: ({ schema, allows }) => schema ?? allows === true,
  JSONSchemaPropsOrArray: ({ schema, schemas }) => schemas ?? schema ?? null,
  JSONSchemaPropsOrStringArray: ({ schema, property }) => property ?? schema ?? null,
};

/** The years RFC 3339 can write, in seconds. */
const [EARLIEST, LATEST] = [-62_135_596_800, 253_402_300_799];

/** An instant in both forms. Go writes the zero time as a message without fields; it is no instant. */
function instantOf({ seconds, nanos }: JsonObject): { seconds: string; micros: string } | undefined {
  if (seconds === undefined && nanos === undefined) return undefined;
  const [whole, part] = [seconds ?? 0, nanos ?? 0];
  if (typeof whole !== 'number' || whole < EARLIEST || whole > LATEST) throw new Error(`no time: ${String(whole)} s`);
  if (typeof part !== 'number' || part < 0 || part > 999_999_999) throw new Error(`no time: ${String(part)} ns`);
  const text = rfc3339(whole * 1000);
  const micros = String(Math.floor(part / 1000)).padStart(6, '0');
  return { seconds: text, micros: text.replace('Z', `.${micros}Z`) };
}
