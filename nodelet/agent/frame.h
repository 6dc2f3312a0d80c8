/* The wire format; PROTOCOL.md says what each frame means. */
#ifndef COPPICE_FRAME_H
#define COPPICE_FRAME_H

#include <stdint.h>
#include <string.h>

#define PROTOCOL_VERSION 1
#define AGENT_VERSION "0.1.0"

#define HEADER_BYTES 9u
#define MAX_PAYLOAD 65536u
#define MAX_PING 64u
#define MARKER_BYTES 16u
#define NONCE_BYTES 16u
#define BOOT_ID_BYTES 36u
#define ENTROPY_BYTES 32u
#define STREAM_WINDOW 262144u
#define MAX_CHANNELS 64

/* No zero byte (every header has one), and the first byte does not come again: a failed match restarts at that byte alone. */
static const uint8_t MARKER[MARKER_BYTES] = {0xff, 'C', 'O', 'P', 'P', 'I', 'C', 'E', '-', 'A', 'G', 'E', 'N', 'T', 0xfe, 0xfd};

enum host_frame {
  H_HELLO = 1, H_PING, H_EXEC, H_STDIN, H_STDIN_EOF, H_RESIZE, H_SIGNAL, H_CLOSE, H_CREDIT, H_INFO, H_SHUTDOWN, H_SET_TIME, H_SET_IDENTITY
};
enum agent_frame {
  A_HELLO = 129, A_PONG, A_STARTED, A_STDOUT, A_STDERR, A_EXIT, A_ERROR, A_CREDIT, A_INFO, A_DONE
};
enum stream { S_STDIN = 0, S_STDOUT = 1, S_STDERR = 2 };
enum error_reason { E_INVALID = 1, E_BUSY, E_FAILED, E_UNSUPPORTED, E_PROTOCOL };
enum exec_flag { X_TTY = 1, X_STDIN = 2, X_CWD = 4 };

static inline uint16_t get16(const uint8_t *p) { return (uint16_t)(p[0] << 8 | p[1]); }
static inline uint32_t get32(const uint8_t *p) { return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]; }
static inline uint64_t get64(const uint8_t *p) { return (uint64_t)get32(p) << 32 | get32(p + 4); }
static inline void put16(uint8_t *p, uint16_t v) { p[0] = (uint8_t)(v >> 8); p[1] = (uint8_t)v; }
static inline void put32(uint8_t *p, uint32_t v) {
  p[0] = (uint8_t)(v >> 24); p[1] = (uint8_t)(v >> 16); p[2] = (uint8_t)(v >> 8); p[3] = (uint8_t)v;
}

#endif
