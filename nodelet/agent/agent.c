/*
 * The guest agent: runs commands for the host over one byte stream. One thread, one poll loop; nothing in it blocks.
 *
 *   coppice-agent DEVICE          serves the virtio-serial port of a guest
 *   coppice-agent --listen PATH   serves one client at a time of a unix socket, without power over the machine
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "channel.h"
#include "frame.h"
#include "machine.h"
#include "port.h"
#include "session.h"

#define OUTPUT_BYTES (512u * 1024)
#define CHUNK_BYTES 32768u
#define GRANT_BYTES (STREAM_WINDOW / 4)
#define LOOK_AGAIN_MS 1000 /* while no host is there, in case its SIGIO was missed */
#define MAX_POLLED (2 + 3 * MAX_CHANNELS)

static struct port port;
static struct session session;

static int64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* How many bytes of an output may be moved now. */
static uint32_t may_read(const struct output *out) {
  uint32_t room = ring_room(&session.output);
  if (out->fd < 0 || out->quiet || room < ANSWER_ROOM + HEADER_BYTES + CHUNK_BYTES) return 0;
  uint32_t n = least(out->credit, CHUNK_BYTES);
  return out->remaining >= 0 ? least(n, (uint32_t)out->remaining) : n;
}

static void move_output(struct channel *c, int which, int64_t now) {
  static uint8_t chunk[CHUNK_BYTES];
  struct output *out = &c->out[which];
  uint32_t n = may_read(out);
  if (n == 0) return;
  ssize_t got = read(out->fd, chunk, n);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) { /* the end; a tty says EIO */
    channel_output_at_end(c, which, now);
    return;
  }
  session_send(&session, which == 0 ? A_STDOUT : A_STDERR, c->id, chunk, (uint32_t)got);
  out->credit -= (uint32_t)got;
  if (out->remaining < 0) return;
  out->remaining -= got;
  if (out->remaining == 0) channel_end_output(c, which);
}

static void send_grant(struct channel *c) {
  uint8_t payload[5] = {S_STDIN};
  if (c->silent || c->grant < GRANT_BYTES) return;
  put32(payload + 1, c->grant);
  if (session_send(&session, A_CREDIT, c->id, payload, sizeof payload)) c->grant = 0;
}

static void send_exit(struct channel *c) {
  uint8_t payload[8];
  uint32_t signal = WIFSIGNALED(c->status) ? (uint32_t)WTERMSIG(c->status) : 0;
  put32(payload, signal != 0 ? 128 + signal : (uint32_t)WEXITSTATUS(c->status));
  put32(payload + 4, signal);
  if (c->silent || session_send(&session, A_EXIT, c->id, payload, sizeof payload)) channel_free(c);
}

static void check_deadline(struct channel *c, int64_t now) {
  if (c->deadline == 0 || now < c->deadline) return;
  c->deadline = 0;
  if (c->silent) {
    if (!c->ended) channel_kill_session(c);
  } else if (!c->ended) {
    c->out[0].quiet = false;
  } else if (may_read(&c->out[0]) > 0) {
    channel_end_output(c, 0); /* its tty is held by a background process */
  } else {
    c->deadline = now + LOOK_AGAIN_MS; /* the host reads slowly; ask again */
  }
}

static void tend_channels(int64_t now) {
  channels_reap(now);
  for (int i = 0; i < MAX_CHANNELS; i++) {
    struct channel *c = &channels[i];
    if (!c->used) continue;
    check_deadline(c, now);
    send_grant(c);
    if (channel_is_over(c)) send_exit(c);
  }
}

static int timeout_ms(int64_t now) {
  int64_t until = port.connected ? INT64_MAX : now + LOOK_AGAIN_MS;
  if (session.power != POWER_ON && session.power_at < until) until = session.power_at;
  for (int i = 0; i < MAX_CHANNELS; i++)
    if (channels[i].used && channels[i].deadline != 0 && channels[i].deadline < until) until = channels[i].deadline;
  if (until == INT64_MAX) return -1;
  return until <= now ? 0 : (int)(until - now);
}

static short port_events(void) {
  if (!port.connected) return port.listener >= 0 ? POLLIN : 0;
  return (short)((session.have < INPUT_BYTES ? POLLIN : 0) | (session.output.used > 0 ? POLLOUT : 0));
}

struct polled {
  struct pollfd fds[MAX_POLLED];
  struct { struct channel *channel; int stream; } what[MAX_POLLED];
  nfds_t count;
};

/* Only what can be served is asked for: a descriptor in the set reports its hang-up whether asked or not, and would make the loop spin. */
static void watch(struct polled *p, int fd, short events, struct channel *c, int stream) {
  p->fds[p->count] = (struct pollfd){.fd = events == 0 ? -1 : fd, .events = events};
  p->what[p->count].channel = c;
  p->what[p->count].stream = stream;
  p->count++;
}

static void choose(struct polled *p, int signals, int turn) {
  p->count = 0;
  watch(p, signals, POLLIN, NULL, 0);
  watch(p, port.connected ? port.fd : port.listener, port_events(), NULL, 0);
  for (int i = 0; i < MAX_CHANNELS; i++) {
    /* Start at another channel each turn, so that none is always last when room is short. */
    struct channel *c = &channels[(i + turn) % MAX_CHANNELS];
    if (!c->used) continue;
    if (c->in >= 0 && (c->pending.used > 0 || c->in_eof)) watch(p, c->in, POLLOUT, c, S_STDIN);
    for (int o = 0; o < 2; o++)
      if (may_read(&c->out[o]) > 0) watch(p, c->out[o].fd, POLLIN, c, S_STDOUT + o);
  }
}

static void lose_host(int64_t now) {
  session_end(&session, now);
  port_hangup(&port);
}

static void serve_port(short events, int64_t now) {
  if (!port.connected) {
    port_refresh(&port);
    return;
  }
  if (events & (POLLIN | POLLHUP | POLLERR)) {
    uint32_t room = INPUT_BYTES - session.have;
    ssize_t n = room > 0 ? port_read(&port, session.input + session.have, room) : -1;
    if (n < 0) {
      lose_host(now);
      return;
    }
    if (n > 0) session_receive(&session, (uint32_t)n, now);
  }
  /* EAGAIN is ordinary; any other failure shows as a hang-up when reading. */
  while (session.output.used > 0 && ring_write_to(&session.output, port.fd) > 0) continue;
}

static void serve_channels(const struct polled *p, int64_t now) {
  for (nfds_t i = 2; i < p->count; i++) {
    struct channel *c = p->what[i].channel;
    if (p->fds[i].revents == 0 || !c->used) continue;
    if (p->what[i].stream == S_STDIN) channel_feed(c);
    else move_output(c, p->what[i].stream - S_STDOUT, now);
  }
}

/* True when asked to end. */
static bool drain_signals(int signals) {
  struct signalfd_siginfo info;
  bool end = false;
  while (read(signals, &info, sizeof info) == sizeof info)
    if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT) end = true;
  return end;
}

static void serve(int signals) {
  static struct polled p;
  for (int turn = 0;; turn = (turn + 1) % MAX_CHANNELS) {
    int64_t now = now_ms();
    session_handle(&session, now); /* frames that waited for room to answer */
    tend_channels(now);
    session_tend_power(&session, now);
    choose(&p, signals, turn);
    if (poll(p.fds, p.count, timeout_ms(now)) < 0 && errno != EINTR) return;
    now = now_ms();
    if (p.fds[0].revents != 0 && drain_signals(signals)) return;
    serve_port(p.fds[1].revents, now);
    serve_channels(&p, now);
  }
}

/* Pipes must not land on 0 to 2, where a command's streams go. */
static void fill_standard_streams(void) {
  int fd;
  do fd = open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= 2);
  if (fd > 2) close(fd);
}

static int open_signals(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigaddset(&set, SIGIO);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigprocmask(SIG_BLOCK, &set, NULL);
  signal(SIGPIPE, SIG_IGN);
  return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

int main(int argc, char **argv) {
  bool listens = argc == 3 && strcmp(argv[1], "--listen") == 0;
  if (argc == 2 && strcmp(argv[1], "--version") == 0) return puts(AGENT_VERSION) < 0;
  if (argc != 2 && !listens) {
    fprintf(stderr, "usage: coppice-agent DEVICE | --listen PATH | --version\n");
    return 2;
  }
  fill_standard_streams();
  int signals = open_signals();
  session.whole_machine = !listens;
  session.output.size = OUTPUT_BYTES;
  if (signals < 0 || (listens ? port_listen(&port, argv[2]) : port_open_device(&port, argv[1])) < 0) {
    fprintf(stderr, "coppice-agent: %s: %s\n", argv[argc - 1], strerror(errno));
    return 1;
  }
  if (port.connected) session_deny(&session);
  serve(signals);
  for (int i = 0; i < MAX_CHANNELS; i++)
    if (channels[i].used) channel_kill_session(&channels[i]);
  if (listens) unlink(argv[2]);
  return 0;
}
