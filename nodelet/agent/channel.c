#define _GNU_SOURCE
#include "channel.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spawn.h"

#define TTY_DRAIN_MS 500
#define TTY_LOOK_MS 1000
#define END_OF_TRANSMISSION 4

struct channel channels[MAX_CHANNELS];

struct channel *channel_find(uint32_t id) {
  for (int i = 0; i < MAX_CHANNELS; i++)
    if (channels[i].used && !channels[i].silent && channels[i].id == id) return &channels[i];
  return NULL;
}

static struct channel *free_slot(void) {
  for (int i = 0; i < MAX_CHANNELS; i++)
    if (!channels[i].used) return &channels[i];
  return NULL;
}

struct channel *channel_exec(uint32_t id, const uint8_t *payload, uint32_t n, struct refusal *why) {
  struct command command;
  *why = (struct refusal){E_INVALID, "the command is malformed"};
  if (channel_find(id) != NULL) {
    why->text = "the channel is in use";
    return NULL;
  }
  struct channel *c = free_slot();
  if (c == NULL) {
    *why = (struct refusal){E_BUSY, "64 commands run already"};
    return NULL;
  }
  if (!command_parse(&command, payload, n)) return NULL;
  struct spawned s;
  pid_t pid = command_spawn(&command, &s);
  command_free(&command);
  if (pid < 0) {
    *why = (struct refusal){E_FAILED, strerror(errno)};
    return NULL;
  }
  *c = (struct channel){.used = true, .id = id, .pid = pid, .tty = command.tty, .in = s.in, .pending = {.size = STREAM_WINDOW}};
  for (int i = 0; i < 2; i++) c->out[i] = (struct output){.fd = s.out[i], .credit = STREAM_WINDOW, .remaining = -1};
  return c;
}

static void close_stdin(struct channel *c) {
  if (c->in >= 0 && !c->tty) close(c->in); /* a tty's descriptor belongs to its output */
  c->in = -1;
  c->grant += c->pending.used;
  ring_free(&c->pending);
}

bool channel_stdin(struct channel *c, const uint8_t *bytes, uint32_t n) {
  if (c->in < 0 || c->in_eof) {
    c->grant += n; /* the command closed it: swallow, so that a sender does not hang */
    return true;
  }
  /* What was granted back but not yet told still counts as used up; `pending` alone bounds memory. */
  if (ring_put(&c->pending, bytes, n) < 0) return false;
  channel_feed(c);
  return true;
}

void channel_stdin_eof(struct channel *c) {
  if (c->in < 0 || c->in_eof) return;
  c->in_eof = true;
  channel_feed(c);
}

void channel_feed(struct channel *c) {
  while (c->in >= 0 && c->pending.used > 0) {
    ssize_t n = ring_write_to(&c->pending, c->in);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      close_stdin(c);
      return;
    }
    c->grant += (uint32_t)n;
  }
  if (!c->in_eof || c->in < 0) return;
  if (c->tty) {
    const uint8_t end = END_OF_TRANSMISSION;
    if (write(c->in, &end, 1) < 0 && errno == EAGAIN) return;
  }
  close_stdin(c);
}

void channel_resize(struct channel *c, uint16_t rows, uint16_t columns) {
  struct winsize size = {.ws_row = rows, .ws_col = columns};
  if (c->tty && c->out[0].fd >= 0) ioctl(c->out[0].fd, TIOCSWINSZ, &size);
}

void channel_signal(struct channel *c, int number) {
  if (c->ended) return;
  if (kill(-c->pid, number) < 0) kill(c->pid, number); /* it may not have made its group yet */
}

/* The session of a process, field 6 of its stat; the name before it may hold spaces and brackets, so count from the last bracket. */
static pid_t session_of(const char *pid) {
  char path[64], stat[512];
  snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  ssize_t n = read(fd, stat, sizeof stat - 1);
  close(fd);
  if (n <= 0) return -1;
  stat[n] = 0;
  const char *after = strrchr(stat, ')');
  int session;
  if (after == NULL || sscanf(after + 1, " %*c %*d %*d %d", &session) != 1) return -1;
  return session;
}

/* A shell with job control gives each job a process group of its own, so the group is not enough: signal the whole session. */
static void signal_session(pid_t leader, int number) {
  kill(leader, number); /* by itself too: it may not have made its session yet */
  kill(-leader, number);
  DIR *proc = opendir("/proc");
  if (proc == NULL) return;
  for (struct dirent *entry; (entry = readdir(proc)) != NULL;)
    if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && session_of(entry->d_name) == leader) kill(atoi(entry->d_name), number);
  closedir(proc);
}

void channel_kill_session(const struct channel *c) { signal_session(c->pid, SIGKILL); }

void channel_end_output(struct channel *c, int which) {
  if (c->out[which].fd < 0) return;
  if (c->tty) c->in = -1;
  close(c->out[which].fd);
  c->out[which].fd = -1;
}

/*
 * A tty is kept open until its command has ended, although nobody has the other side open: a command that closes its streams just before it exits
 * (GNU cat does) would be killed by the hang-up.
 */
void channel_output_at_end(struct channel *c, int which, int64_t now) {
  if (!c->tty || c->ended) {
    channel_end_output(c, which);
    return;
  }
  c->out[which].quiet = true;
  c->deadline = now + TTY_LOOK_MS;
}

static void drop_streams(struct channel *c) {
  close_stdin(c);
  for (int i = 0; i < 2; i++) channel_end_output(c, i);
}

void channel_close(struct channel *c) {
  c->closed = true;
  channel_kill_session(c);
  drop_streams(c);
}

void channel_abandon(struct channel *c, int64_t deadline) {
  if (c->silent) return;
  c->silent = true;
  c->deadline = deadline;
  signal_session(c->pid, SIGHUP);
  drop_streams(c);
}

/* The command has ended. What it wrote is in the pipes by now; what a background process adds later is not waited for. */
static void note_end(struct channel *c, int status, int64_t now) {
  c->ended = true;
  c->status = status;
  for (int i = 0; i < 2; i++) {
    int waiting = 0;
    if (c->out[i].fd < 0) continue;
    /* A tty's output may still be on its way inside the kernel: it ends by itself when the session leader is gone, or is given up on. */
    c->out[i].quiet = false;
    if (c->tty) c->deadline = now + TTY_DRAIN_MS;
    else if (ioctl(c->out[i].fd, FIONREAD, &waiting) < 0 || waiting <= 0) channel_end_output(c, i);
    else c->out[i].remaining = waiting;
  }
  close_stdin(c);
}

static struct channel *find_pid(pid_t pid) {
  for (int i = 0; i < MAX_CHANNELS; i++)
    if (channels[i].used && !channels[i].ended && channels[i].pid == pid) return &channels[i];
  return NULL;
}

/* Looks before it reaps: while the leader is a zombie its number cannot be given to another process, so signalling its session is safe. */
void channels_reap(int64_t now) {
  for (;;) {
    siginfo_t info = {0};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0) return;
    struct channel *c = find_pid(info.si_pid);
    if (c != NULL && (c->silent || c->closed)) channel_kill_session(c);
    int status = 0;
    waitpid(info.si_pid, &status, WNOHANG);
    if (c != NULL) note_end(c, status, now);
  }
}

bool channel_is_over(const struct channel *c) { return c->ended && c->out[0].fd < 0 && c->out[1].fd < 0; }

void channel_free(struct channel *c) {
  drop_streams(c);
  *c = (struct channel){.used = false, .in = -1};
}
