#include "ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int ring_put(struct ring *r, const void *bytes, uint32_t n) {
  if (n > ring_room(r)) return -1;
  if (n == 0) return 0;
  if (r->bytes == NULL && (r->bytes = malloc(r->size)) == NULL) return -1;
  uint32_t tail = (r->head + r->used) % r->size;
  uint32_t first = n < r->size - tail ? n : r->size - tail;
  memcpy(r->bytes + tail, bytes, first);
  memcpy(r->bytes, (const uint8_t *)bytes + first, n - first);
  r->used += n;
  return 0;
}

ssize_t ring_write_to(struct ring *r, int fd) {
  if (r->used == 0) return 0;
  uint32_t first = r->used < r->size - r->head ? r->used : r->size - r->head;
  ssize_t n;
  do n = write(fd, r->bytes + r->head, first);
  while (n < 0 && errno == EINTR);
  if (n > 0) {
    r->head = (r->head + (uint32_t)n) % r->size;
    r->used -= (uint32_t)n;
  }
  return n;
}

void ring_free(struct ring *r) {
  free(r->bytes);
  r->bytes = NULL;
  r->head = r->used = 0;
}
