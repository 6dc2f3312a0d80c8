/**
 * What our own processes agree on when they open TLS: HTTP/2, all requests of one client over one connection. Named apart from `h2`, so that every
 * other client goes on to be answered over HTTP/1.1.
 */
export const H2_PROTOCOL = 'coppice-h2';
