#define _GNU_SOURCE
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "frame.h"

#define EXEC_HEADER 9u
#define NOT_FOUND 127
#define NOT_EXECUTABLE 126

bool command_parse(struct command *command, const uint8_t *payload, uint32_t n) {
  *command = (struct command){0};
  if (n < EXEC_HEADER) return false;
  uint8_t flags = payload[0];
  uint32_t argc = get16(payload + 5), envc = get16(payload + 7), words = argc + envc + (flags & X_CWD ? 1 : 0);
  if (argc == 0 || argc > MAX_WORDS || envc > MAX_WORDS) return false;
  uint32_t size = n - EXEC_HEADER;
  if (size == 0 || payload[n - 1] != 0) return false;
  char *text = malloc(size);
  char **list = calloc(argc + envc + 2, sizeof *list);
  if (text == NULL || list == NULL) goto refuse;
  memcpy(text, payload + EXEC_HEADER, size);
  char *next = text;
  for (uint32_t i = 0; i < words; i++) {
    if (next >= text + size) goto refuse;
    if (i < argc) list[i] = next;
    else if (i < argc + envc) list[i + 1] = next; /* after argv's NULL */
    else command->cwd = next;
    next += strlen(next) + 1; /* ends inside: the block's last byte is zero */
  }
  if (next != text + size || list[0][0] == 0) goto refuse;
  command->tty = flags & X_TTY;
  command->has_stdin = flags & X_STDIN;
  command->rows = get16(payload + 1);
  command->columns = get16(payload + 3);
  command->text = text;
  command->argv = list;
  command->env = list + argc + 1;
  return true;
refuse:
  free(text);
  free(list);
  return false;
}

void command_free(struct command *command) {
  free(command->text);
  free(command->argv);
}

static void fail(int code, const char *name, const char *why) {
  dprintf(STDERR_FILENO, "coppice-agent: %s: %s\n", name, why);
  _exit(code);
}

static void run(const struct command *command) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  /* What started the agent may have ignored some (a shell's background job ignores ^C and ^\\), and ignoring is inherited. */
  for (int s = 1; s < NSIG; s++) signal(s, SIG_DFL);
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* should the agent crash, nobody could reach the command any more */
  setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 0);
  setenv("HOME", "/root", 0);
  if (command->tty) setenv("TERM", "xterm", 0);
  for (char **e = command->env; *e != NULL; e++) putenv(*e);
  if (chdir(command->cwd != NULL ? command->cwd : "/") < 0) fail(NOT_EXECUTABLE, command->cwd, strerror(errno));
  execvp(command->argv[0], command->argv);
  if (errno == ENOENT || errno == ENOTDIR) fail(NOT_FOUND, command->argv[0], "command not found");
  fail(NOT_EXECUTABLE, command->argv[0], strerror(errno));
}

static pid_t spawn_tty(const struct command *command, struct spawned *s) {
  struct winsize size = {.ws_row = command->rows, .ws_col = command->columns};
  int master;
  pid_t pid = forkpty(&master, NULL, NULL, &size);
  if (pid == 0) run(command);
  if (pid < 0) return -1;
  fcntl(master, F_SETFD, FD_CLOEXEC);
  fcntl(master, F_SETFL, O_RDWR | O_NONBLOCK);
  *s = (struct spawned){.in = master, .out = {master, -1}};
  return pid;
}

/* Pipes for the streams; in[0], out[1], err[1] are the command's. */
static bool open_pipes(bool has_stdin, int ends[3][2]) {
  for (int i = 0; i < 3; i++) ends[i][0] = ends[i][1] = -1;
  if (has_stdin ? pipe2(ends[0], O_CLOEXEC) < 0 : (ends[0][0] = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0) return false;
  return pipe2(ends[1], O_CLOEXEC) == 0 && pipe2(ends[2], O_CLOEXEC) == 0;
}

static void close_pipes(int ends[3][2]) {
  int why = errno;
  for (int i = 0; i < 6; i++)
    if (ends[i / 2][i % 2] >= 0) close(ends[i / 2][i % 2]);
  errno = why;
}

/* Our ends must not block. The flag sits on each end by itself, so the command's ends stay as a program expects them. */
static void unblock(int fd) {
  if (fd >= 0) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static pid_t spawn_piped(const struct command *command, struct spawned *s) {
  int ends[3][2];
  pid_t pid = open_pipes(command->has_stdin, ends) ? fork() : -1;
  if (pid < 0) {
    close_pipes(ends);
    return -1;
  }
  if (pid == 0) {
    setsid();
    if (dup2(ends[0][0], 0) < 0 || dup2(ends[1][1], 1) < 0 || dup2(ends[2][1], 2) < 0) _exit(NOT_EXECUTABLE);
    run(command);
  }
  close(ends[0][0]);
  close(ends[1][1]);
  close(ends[2][1]);
  *s = (struct spawned){.in = ends[0][1], .out = {ends[1][0], ends[2][0]}};
  unblock(s->in);
  unblock(s->out[0]);
  unblock(s->out[1]);
  return pid;
}

pid_t command_spawn(const struct command *command, struct spawned *s) {
  return command->tty ? spawn_tty(command, s) : spawn_piped(command, s);
}
