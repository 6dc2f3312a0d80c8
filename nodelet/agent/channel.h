/* Commands: each runs in a session of its own and has one channel until its EXIT has been sent. */
#ifndef COPPICE_CHANNEL_H
#define COPPICE_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "frame.h"
#include "ring.h"

struct output {
  int fd;            /* -1 once it has ended */
  bool quiet;        /* a tty nobody has open at the moment: not worth polling */
  uint32_t credit;   /* bytes the host still takes */
  int64_t remaining; /* after the command's end: bytes still to send; -1 before */
};

struct channel {
  bool used;
  bool silent;  /* nobody listens any more: say nothing, only wait for the end */
  bool closed;  /* the host has asked for the end: EXIT, but no more output */
  bool tty;
  bool ended;   /* reaped; `status` is its wait status */
  int status;
  uint32_t id;
  pid_t pid;
  int in;              /* -1 once closed; the tty's own descriptor for a tty */
  bool in_eof;         /* close stdin when `pending` has been written */
  struct ring pending; /* stdin the command has not taken */
  uint32_t grant;      /* stdin bytes taken and not yet granted back */
  struct output out[2];
  int64_t deadline;    /* monotonic ms at which to go on to SIGKILL, or to look at a quiet tty again; 0 = none */
};

/* What went wrong with a request: a reason from frame.h and a sentence. */
struct refusal {
  int reason;
  const char *text;
};

extern struct channel channels[MAX_CHANNELS];

struct channel *channel_find(uint32_t id);
/* Parses an EXEC payload and starts the command. NULL when refused. */
struct channel *channel_exec(uint32_t id, const uint8_t *payload, uint32_t n, struct refusal *why);
/* Takes stdin; false when the host has sent more than it was granted. */
bool channel_stdin(struct channel *c, const uint8_t *bytes, uint32_t n);
void channel_stdin_eof(struct channel *c);
/* Writes what the command takes; never blocks. */
void channel_feed(struct channel *c);
void channel_resize(struct channel *c, uint16_t rows, uint16_t columns);
/* Sends a signal to the command's process group. */
void channel_signal(struct channel *c, int signal);
/* Kills everything in the command's session and drops its output. */
void channel_close(struct channel *c);
/* The host has gone: SIGHUP now, SIGKILL at `deadline`. */
void channel_abandon(struct channel *c, int64_t deadline);
/* Sends SIGKILL to every process of the command's session. */
void channel_kill_session(const struct channel *c);
/* Collects ended commands. */
void channels_reap(int64_t now);
/* Whether all has been sent and only EXIT is left. */
bool channel_is_over(const struct channel *c);
void channel_end_output(struct channel *c, int which);
/* Reading said that an output is at its end. */
void channel_output_at_end(struct channel *c, int which, int64_t now);
void channel_free(struct channel *c);

#endif
