/* What is said with one host: finding the marker, reading frames, answering them. */
#ifndef COPPICE_SESSION_H
#define COPPICE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "channel.h"
#include "frame.h"
#include "ring.h"

#define INPUT_BYTES (2 * (HEADER_BYTES + MAX_PAYLOAD))
/* Room kept free in `output` so that every frame that is read can be answered. */
#define ANSWER_ROOM 16384u
#define ABANDON_MS 2000
#define POWER_ANSWER_MS 1000 /* for the answer to get out */
#define POWER_OFF_MS 10000   /* for PID 1 to power off, before it is done without it */

struct session {
  bool whole_machine; /* may set the clock and the identity and power off: not when serving a plain process */
  bool framed;        /* a marker has been seen and no nonsense since */
  bool told;          /* the host knows that there is no session */
  bool met;           /* HELLO was answered: frames count */
  uint8_t nonce[NONCE_BYTES];
  uint32_t matched;   /* bytes of the marker that the input ends with */
  uint32_t have;
  uint8_t input[INPUT_BYTES];
  struct ring output;
  enum { POWER_ON, POWER_ASKED, POWER_REQUESTED } power;
  int64_t power_at;   /* when to go on, unless POWER_ON */
};

/* Tells a host that believes in a session (of an agent that crashed, say) that there is none; once until the next marker. */
void session_deny(struct session *s);
/* Takes bytes the port has put at input + have. */
void session_receive(struct session *s, uint32_t n, int64_t now);
/* Handles the frames that are there, as long as answers fit. */
void session_handle(struct session *s, int64_t now);
/* Queues a frame; false without room. */
bool session_send(struct session *s, int type, uint32_t channel, const void *payload, uint32_t n);
/* Goes on with powering off, if that was asked for. */
void session_tend_power(struct session *s, int64_t now);
/* The host has gone. */
void session_end(struct session *s, int64_t now);

#endif
