#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

#define INFO_BYTES 8192

bool session_send(struct session *s, int type, uint32_t channel, const void *payload, uint32_t n) {
  uint8_t header[HEADER_BYTES];
  if (ring_room(&s->output) < HEADER_BYTES + n) return false;
  put32(header, 5 + n);
  header[4] = (uint8_t)type;
  put32(header + 5, channel);
  return ring_put(&s->output, header, HEADER_BYTES) == 0 && ring_put(&s->output, payload, n) == 0;
}

static void send_error(struct session *s, uint32_t channel, int reason, const char *text) {
  uint8_t payload[256];
  uint32_t n = (uint32_t)strnlen(text, sizeof payload - 1);
  payload[0] = (uint8_t)reason;
  memcpy(payload + 1, text, n);
  session_send(s, A_ERROR, channel, payload, n + 1);
}

static void abandon_all(int64_t now) {
  for (int i = 0; i < MAX_CHANNELS; i++)
    if (channels[i].used) channel_abandon(&channels[i], now + ABANDON_MS);
}

void session_end(struct session *s, int64_t now) {
  abandon_all(now);
  ring_free(&s->output);
  s->framed = s->met = s->told = false;
  s->have = s->matched = 0;
}

void session_deny(struct session *s) {
  if (!s->told) send_error(s, 0, E_PROTOCOL, "there is no session with this agent");
  s->told = true;
}

/* Nonsense from the host: say so, after what is queued, and wait for the next marker. */
static void session_break(struct session *s, int64_t now) {
  if (!s->told) send_error(s, 0, E_PROTOCOL, "the stream of frames is broken");
  s->told = true;
  abandon_all(now);
  s->framed = s->met = false;
  s->have = 0;
}

/* Looks for the marker in the newest n bytes. Returns the bytes at the end of them that follow the last marker, or -1 without one. */
static int64_t after_marker(struct session *s, uint32_t n) {
  int64_t rest = -1;
  for (uint32_t i = 0; i < n; i++) {
    uint8_t byte = s->input[s->have + i];
    if (byte == MARKER[s->matched]) s->matched++;
    else s->matched = byte == MARKER[0] ? 1 : 0;
    if (s->matched < MARKER_BYTES) continue;
    s->matched = 0;
    rest = n - 1 - i;
  }
  return rest;
}

void session_receive(struct session *s, uint32_t n, int64_t now) {
  int64_t rest = after_marker(s, n);
  s->have += n;
  if (rest >= 0) {
    memmove(s->input, s->input + s->have - rest, (size_t)rest);
    s->have = (uint32_t)rest;
    s->framed = true;
    s->told = false;
  }
  if (!s->framed) {
    s->have = 0;
    session_deny(s);
  }
  session_handle(s, now);
}

static void meet(struct session *s, const uint8_t *p, uint32_t n, int64_t now) {
  uint8_t answer[MARKER_BYTES + NONCE_BYTES + 2 + BOOT_ID_BYTES + sizeof AGENT_VERSION - 1];
  if (n < 2 + NONCE_BYTES) return;
  if (!s->met || memcmp(s->nonce, p + 2, NONCE_BYTES) != 0) {
    abandon_all(now);
    ring_free(&s->output);
    memcpy(s->nonce, p + 2, NONCE_BYTES);
  }
  s->met = get16(p) == PROTOCOL_VERSION; /* another version gets the answer, which names ours, and nothing else */
  uint8_t *at = answer;
  memcpy(at, MARKER, MARKER_BYTES), at += MARKER_BYTES;
  memcpy(at, s->nonce, NONCE_BYTES), at += NONCE_BYTES;
  put16(at, PROTOCOL_VERSION), at += 2;
  machine_boot_id((char *)at), at += BOOT_ID_BYTES;
  memcpy(at, AGENT_VERSION, sizeof AGENT_VERSION - 1);
  session_send(s, A_HELLO, 0, answer, sizeof answer);
}

static void start(struct session *s, uint32_t id, const uint8_t *p, uint32_t n) {
  struct refusal why;
  uint8_t pid[4];
  struct channel *c = channel_exec(id, p, n, &why);
  if (c == NULL) {
    send_error(s, id, why.reason, why.text);
    return;
  }
  put32(pid, (uint32_t)c->pid);
  session_send(s, A_STARTED, id, pid, sizeof pid);
}

/* A channel that broke the rules is ended; its EXIT would say nothing the ERROR does not. */
static void end_channel(struct session *s, struct channel *c, const char *text) {
  send_error(s, c->id, E_PROTOCOL, text);
  channel_close(c);
  c->silent = true;
}

static void grant(struct session *s, struct channel *c, const uint8_t *p, uint32_t n) {
  if (n != 5 || (p[0] != S_STDOUT && p[0] != S_STDERR)) {
    end_channel(s, c, "the credit is malformed");
    return;
  }
  struct output *out = &c->out[p[0] - S_STDOUT];
  uint32_t bytes = get32(p + 1);
  if (bytes > STREAM_WINDOW - out->credit) end_channel(s, c, "more credit was given than the window holds");
  else out->credit += bytes;
}

static void handle_channel_frame(struct session *s, struct channel *c, int type, const uint8_t *p, uint32_t n) {
  switch (type) {
    case H_STDIN:
      if (!channel_stdin(c, p, n)) end_channel(s, c, "more stdin came than was granted");
      return;
    case H_STDIN_EOF: channel_stdin_eof(c); return;
    case H_RESIZE:
      if (n == 4) channel_resize(c, get16(p), get16(p + 2));
      return;
    case H_SIGNAL:
      if (n == 1 && p[0] >= 1 && p[0] <= 64) channel_signal(c, p[0]);
      return;
    case H_CLOSE: channel_close(c); return;
    case H_CREDIT: grant(s, c, p, n); return;
    default: return;
  }
}

static void answer_done(struct session *s, uint32_t id, const char *why) {
  if (why == NULL) session_send(s, A_DONE, id, NULL, 0);
  else send_error(s, id, E_FAILED, why);
}

static void handle_machine_frame(struct session *s, int type, uint32_t id, const uint8_t *p, uint32_t n, int64_t now) {
  if (!s->whole_machine) {
    send_error(s, id, E_UNSUPPORTED, "this agent serves a process, not a machine");
  } else if (type == H_SET_TIME) {
    answer_done(s, id, n == 8 ? machine_set_time(get64(p)) : "the time is malformed");
  } else if (type == H_SET_IDENTITY) {
    answer_done(s, id, machine_set_identity(p, n));
  } else {
    answer_done(s, id, NULL);
    s->power = POWER_ASKED; /* acted on when the answer is out: PID 1 ends this process early on */
    s->power_at = now + POWER_ANSWER_MS;
  }
}

static void handle_frame(struct session *s, int type, uint32_t id, const uint8_t *p, uint32_t n, int64_t now) {
  char info[INFO_BYTES];
  struct channel *c;
  if (type == H_HELLO) {
    meet(s, p, n, now);
    return;
  }
  if (!s->met) return;
  switch (type) {
    case H_PING: session_send(s, A_PONG, id, p, n < MAX_PING ? n : MAX_PING); return;
    case H_EXEC: start(s, id, p, n); return;
    case H_INFO: session_send(s, A_INFO, id, info, machine_info(info, sizeof info)); return;
    case H_SHUTDOWN:
    case H_SET_TIME:
    case H_SET_IDENTITY: handle_machine_frame(s, type, id, p, n, now); return;
    default:
      /* Frames for a channel that has just ended are on their way when its EXIT is: not an error. */
      if ((c = channel_find(id)) != NULL) handle_channel_frame(s, c, type, p, n);
  }
}

void session_tend_power(struct session *s, int64_t now) {
  if (s->power == POWER_ASKED && (s->output.used == 0 || now >= s->power_at)) {
    machine_request_power_off();
    s->power = POWER_REQUESTED;
    s->power_at = now + POWER_OFF_MS;
  } else if (s->power == POWER_REQUESTED && now >= s->power_at) {
    machine_power_off();
  }
}

/* What may be the beginning of a marker is not read as the length of a frame: where knocks have piled up, a read can end within one. */
static bool header_at(const struct session *s, uint32_t at) {
  return s->have - at >= HEADER_BYTES && s->have - at >= 4 + s->matched;
}

void session_handle(struct session *s, int64_t now) {
  uint32_t at = 0;
  while (s->framed && header_at(s, at) && ring_room(&s->output) >= ANSWER_ROOM) {
    const uint8_t *frame = s->input + at;
    uint32_t length = get32(frame);
    if (length < 5 || length > MAX_PAYLOAD + 5) {
      session_break(s, now);
      return;
    }
    if (s->have - at < 4 + length) break;
    handle_frame(s, frame[4], get32(frame + 5), frame + HEADER_BYTES, length - 5, now);
    at += 4 + length;
  }
  memmove(s->input, s->input + at, s->have - at);
  s->have -= at;
}
