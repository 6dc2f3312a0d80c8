#define _GNU_SOURCE
#include "machine.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_HOSTNAME 63
#define MAX_ADDRESSES 32
/* systemd takes SIGRTMIN+4 for "power off"; glibc, which it is built with, starts at 34. */
#define SYSTEMD_POWER_OFF 38
/* From linux/random.h, which musl's compiler does not find. */
#define RNDADDENTROPY _IOW('R', 0x03, int[2])
#define RNDRESEEDCRNG _IO('R', 0x07)

void machine_boot_id(char id[BOOT_ID_BYTES]) {
  memset(id, 0, BOOT_ID_BYTES);
  int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  if (read(fd, id, BOOT_ID_BYTES) != BOOT_ID_BYTES) memset(id, 0, BOOT_ID_BYTES);
  close(fd);
}

static void append(char *text, uint32_t size, uint32_t *used, const char *format, ...) __attribute__((format(printf, 4, 5)));
static void append(char *text, uint32_t size, uint32_t *used, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int n = vsnprintf(text + *used, size - *used, format, args);
  va_end(args);
  if (n > 0 && (uint32_t)n < size - *used) *used += (uint32_t)n; /* what does not fit whole is left out */
}

static const char *address_text(const struct sockaddr *address, char into[INET6_ADDRSTRLEN]) {
  if (address->sa_family == AF_INET) return inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, into, INET6_ADDRSTRLEN);
  if (address->sa_family != AF_INET6) return NULL;
  const struct in6_addr *six = &((const struct sockaddr_in6 *)address)->sin6_addr;
  return IN6_IS_ADDR_LINKLOCAL(six) ? NULL : inet_ntop(AF_INET6, six, into, INET6_ADDRSTRLEN);
}

uint32_t machine_info(char *text, uint32_t size) {
  uint32_t used = 0;
  char name[MAX_HOSTNAME + 2] = {0}, buffer[INET6_ADDRSTRLEN];
  struct timespec up;
  gethostname(name, sizeof name - 1);
  clock_gettime(CLOCK_BOOTTIME, &up);
  append(text, size, &used, "hostname=%s\nuptime_ms=%lld\n", name, (long long)up.tv_sec * 1000 + up.tv_nsec / 1000000);
  struct ifaddrs *all;
  if (getifaddrs(&all) < 0) return used;
  int count = 0;
  for (struct ifaddrs *a = all; a != NULL && count < MAX_ADDRESSES; a = a->ifa_next) {
    if (a->ifa_addr == NULL || (a->ifa_flags & IFF_LOOPBACK) || !(a->ifa_flags & IFF_UP)) continue;
    const char *address = address_text(a->ifa_addr, buffer);
    if (address == NULL) continue;
    append(text, size, &used, "address=%s\n", address);
    count++;
  }
  freeifaddrs(all);
  return used;
}

const char *machine_set_time(uint64_t ms) {
  if (ms > 253402300799000ull) return "the time is beyond the year 9999";
  struct timespec t = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
  return clock_settime(CLOCK_REALTIME, &t) == 0 ? NULL : strerror(errno);
}

static bool is_label(const char *name, uint32_t n) {
  if (n == 0 || n > MAX_HOSTNAME || name[0] == '-' || name[n - 1] == '-') return false;
  for (uint32_t i = 0; i < n; i++)
    if (!((name[i] >= 'a' && name[i] <= 'z') || (name[i] >= '0' && name[i] <= '9') || name[i] == '-')) return false;
  return true;
}

/* Two copies of one memory image would otherwise draw the same "random" numbers: credit the host's entropy, and use it now. */
static const char *stir(const uint8_t entropy[ENTROPY_BYTES]) {
  struct { int entropy_count, buf_size; uint8_t buf[ENTROPY_BYTES]; } pool = {ENTROPY_BYTES * 8, ENTROPY_BYTES, {0}};
  memcpy(pool.buf, entropy, ENTROPY_BYTES);
  int fd = open("/dev/urandom", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return strerror(errno);
  int failed = ioctl(fd, RNDADDENTROPY, &pool) < 0 || ioctl(fd, RNDRESEEDCRNG) < 0;
  const char *why = failed ? strerror(errno) : NULL;
  close(fd);
  return why;
}

static void write_line(const char *path, const char *text, int n) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return; /* a read-only root: the running name below still holds */
  dprintf(fd, "%.*s\n", n, text);
  close(fd);
}

const char *machine_set_identity(const uint8_t *payload, uint32_t n) {
  if (n <= ENTROPY_BYTES) return "the identity is malformed";
  const char *name = (const char *)payload + ENTROPY_BYTES;
  uint32_t length = n - ENTROPY_BYTES;
  if (!is_label(name, length)) return "the host name is not an RFC 1123 label";
  const char *why = stir(payload);
  if (why != NULL) return why;
  if (sethostname(name, length) < 0) return strerror(errno);
  write_line("/etc/hostname", name, (int)length);
  uint8_t id[16];
  char hex[33];
  if (getrandom(id, sizeof id, 0) != sizeof id) return strerror(errno);
  for (int i = 0; i < 16; i++) snprintf(hex + 2 * i, 3, "%02x", id[i]);
  write_line("/etc/machine-id", hex, 32);
  return NULL;
}

void machine_request_power_off(void) {
  struct stat s;
  sync();
  kill(1, stat("/run/systemd/system", &s) == 0 ? SYSTEMD_POWER_OFF : SIGUSR2);
}

void machine_power_off(void) {
  sync();
  reboot(RB_POWER_OFF);
}
