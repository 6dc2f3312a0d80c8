#define _GNU_SOURCE
#include "port.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int port_open_device(struct port *port, const char *path) {
  int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return -1;
  /* SIGIO tells of a host that comes or goes. poll cannot: without a host it reports POLLHUP at once, always, and a loop on it would burn the CPU. */
  if (fcntl(fd, F_SETOWN, getpid()) < 0 || fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK | O_ASYNC) < 0) return -1;
  *port = (struct port){.fd = fd, .listener = -1, .connected = false};
  port_refresh(port);
  return 0;
}

int port_listen(struct port *port, const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  strcpy(address.sun_path, path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 8) < 0) return -1;
  *port = (struct port){.fd = -1, .listener = fd, .connected = false};
  return 0;
}

void port_refresh(struct port *port) {
  if (port->connected) return;
  if (port->listener >= 0) {
    port->fd = accept4(port->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    port->connected = port->fd >= 0;
    return;
  }
  struct pollfd p = {.fd = port->fd, .events = POLLIN};
  port->connected = poll(&p, 1, 0) >= 0 && (p.revents & POLLHUP) == 0;
}

ssize_t port_read(struct port *port, uint8_t *into, size_t n) {
  for (;;) {
    ssize_t got = read(port->fd, into, n);
    if (got > 0) return got;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return 0;
    return -1;
  }
}

void port_hangup(struct port *port) {
  port->connected = false;
  if (port->listener < 0) return; /* a device stays open: the next host comes to the same one */
  if (port->fd >= 0) close(port->fd);
  port->fd = -1;
}
