/* A bounded byte queue; its memory is taken at first use and given back by ring_free. */
#ifndef COPPICE_RING_H
#define COPPICE_RING_H

#include <stdint.h>
#include <sys/types.h>

struct ring {
  uint8_t *bytes;
  uint32_t size, head, used;
};

static inline uint32_t ring_room(const struct ring *r) { return r->size - r->used; }
/* Appends all or nothing; 0 when it took them, -1 without room or memory. */
int ring_put(struct ring *r, const void *bytes, uint32_t n);
/* Writes what it can to fd. Returns the bytes taken, or -1 with errno (EAGAIN among others). */
ssize_t ring_write_to(struct ring *r, int fd);
void ring_free(struct ring *r);

#endif
