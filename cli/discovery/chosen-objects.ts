import { usage } from '../failure.ts';
import { listAll } from '../list-all.ts';
import type { Session } from '../session.ts';
import { type DiscoveredResource, discover } from './discovery.ts';
import { selectionOf } from './selection.ts';

/** One object, where it is. */
export interface ChosenObject {
  readonly resource: DiscoveredResource;
  readonly namespace: string | undefined;
  readonly name: string;
}

interface Choice {
  readonly words: readonly string[];
  readonly labelSelector: string | undefined;
  readonly all: boolean;
}

/** The objects that a command is told of by names, by a selector or by `--all`: never all of them unasked. */
export async function chosenObjects(
  session: Session,
  { words, labelSelector, all }: Choice,
  verb: string,
): Promise<ChosenObject[]> {
  const selection = selectionOf(await discover(session.client, session.io.signal), words);
  const place = (resource: DiscoveredResource, name: string): ChosenObject => ({
    resource,
    namespace: resource.namespaced ? session.namespace : undefined,
    name,
  });
  if (selection.kind === 'named') {
    if (labelSelector !== undefined || all) throw usage('give either names or a selector, not both', verb);
    return selection.objects.map(({ resource, name }) => place(resource, name));
  }
  if (labelSelector === undefined && !all) throw usage('name objects, or say --all or -l', verb);
  const out: ChosenObject[] = [];
  for (const resource of selection.resources) {
    const objects = session.client.resource(resource, session.namespace);
    const { items } = await listAll(objects, labelSelector === undefined ? {} : { labelSelector }, session.io.signal);
    out.push(...items.map((item) => place(resource, item.metadata.name)));
  }
  return out;
}
