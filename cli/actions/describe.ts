import { ApiError } from '../../resources/meta/api-error.ts';
import { isObject, type JsonObject, type KubeObject } from '../../resources/meta/object.ts';
import type { Target } from '../coppice-command.ts';
import { type DiscoveredResource, discover } from '../discovery/discovery.ts';
import { selectionOf } from '../discovery/selection.ts';
import { Exit } from '../failure.ts';
import { type Io, warn } from '../io.ts';
import { listAll } from '../list-all.ts';
import { renderDescription } from '../render/describe.ts';
import { openSession, type Session } from '../session.ts';

export interface DescribeOptions {
  readonly words: readonly string[];
  readonly allNamespaces: boolean;
  readonly labelSelector: string | undefined;
}

/** Prints objects in full, with their events. */
export async function describe(io: Io, target: Target, options: DescribeOptions): Promise<void> {
  await using session = await openSession(io, target);
  const selection = selectionOf(await discover(session.client, io.signal), options.words);
  let printed = 0;
  const print = async (object: KubeObject) => {
    if (printed++ > 0) io.stdout.write('\n\n');
    io.stdout.write(renderDescription(object, await eventsOf(session, object), Date.now()));
  };
  if (selection.kind === 'all') {
    for (const resource of selection.resources) {
      const { labelSelector } = options;
      const objects = session.client.resource(resource, options.allNamespaces ? undefined : session.namespace);
      const { items } = await listAll(objects, labelSelector === undefined ? {} : { labelSelector }, io.signal);
      for (const item of items) await print(named(item, resource));
    }
    if (printed === 0) warn(io, 'No resources found');
    return;
  }
  let failed = 0;
  for (const { resource, name } of selection.objects) {
    try {
      await print(await session.client.resource(resource, session.namespace).get(name, io.signal));
    } catch (error) {
      if (!(error instanceof ApiError) || error.reason !== 'NotFound') throw error;
      warn(io, `error: ${error.message}`);
      failed++;
    }
  }
  if (failed > 0) throw new Exit(1);
}

function named(item: KubeObject, resource: DiscoveredResource): KubeObject {
  const { group, version, kind } = resource;
  return { ...item, apiVersion: group === '' ? version : `${group}/${version}`, kind };
}

const EVENTS = { group: '', version: 'v1', plural: 'events', kind: 'Event', namespaced: true };

/** What happened to it. Events of objects without a namespace are kept in `default`. A server or role without events shows none. */
async function eventsOf(session: Session, object: KubeObject): Promise<JsonObject[]> {
  const { name, uid, namespace = 'default' } = object.metadata;
  const fieldSelector = `involvedObject.name=${name},involvedObject.uid=${uid}`;
  try {
    const { items } = await listAll(session.client.resource(EVENTS, namespace), { fieldSelector }, session.io.signal);
    return items.filter(isObject);
  } catch (error) {
    if (error instanceof ApiError && (error.reason === 'NotFound' || error.reason === 'Forbidden')) return [];
    throw error;
  }
}
