/* The byte stream to the host: a virtio-serial device, or one client at a time of a unix socket. */
#ifndef COPPICE_PORT_H
#define COPPICE_PORT_H

#include <stdint.h>
#include <stdbool.h>
#include <sys/types.h>

struct port {
  int fd;          /* the stream; -1 while a listener has no client */
  int listener;    /* -1 for a device */
  bool connected;  /* whether a host is at the other end, as far as is known */
};

/* Both return 0, or -1 with errno. */
int port_open_device(struct port *port, const char *path);
int port_listen(struct port *port, const char *path);
/* Looks again whether a host is there; call it on SIGIO, when the listener is readable, and once a second while nobody is. */
void port_refresh(struct port *port);
/* Reads; 0 = nothing now, -1 = the host has gone. */
ssize_t port_read(struct port *port, uint8_t *into, size_t n);
/* Forgets the host that has gone. */
void port_hangup(struct port *port);

#endif
