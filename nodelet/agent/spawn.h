/* From an EXEC payload to a running process. */
#ifndef COPPICE_SPAWN_H
#define COPPICE_SPAWN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define MAX_WORDS 1024

struct command {
  bool tty, has_stdin;
  uint16_t rows, columns;
  char *text;            /* the strings, one block */
  char **argv;           /* ended by NULL */
  char **env;            /* KEY=VALUE, ended by NULL */
  const char *cwd;       /* NULL = / */
};

struct spawned {
  int in;     /* -1 without stdin */
  int out[2]; /* stdout and stderr; a tty has the first only, else -1 */
};

/* False when the payload is not exactly one well-formed command. On success the command must be freed. */
bool command_parse(struct command *command, const uint8_t *payload, uint32_t n);
void command_free(struct command *command);
/* Starts it in a session of its own with non-blocking ends on our side. -1 with errno when there is no process; never fails for what exec says. */
pid_t command_spawn(const struct command *command, struct spawned *s);

#endif
