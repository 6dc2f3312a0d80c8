import { oneName } from './one-name.ts';

/** The one host a command is about: `NAME`, or `host/NAME` as kubectl users write it. */
export const hostName = oneName('host', /^(mac|hosts?(\.coppice\.dev)?)\//);
