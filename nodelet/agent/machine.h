/* What concerns the guest as a whole. Functions return NULL or a sentence saying what went wrong. */
#ifndef COPPICE_MACHINE_H
#define COPPICE_MACHINE_H

#include <stdint.h>

#include "frame.h"

/* Fills 36 characters, zero bytes if the guest cannot tell. */
void machine_boot_id(char id[BOOT_ID_BYTES]);
/* Lines key=value; returns the length, at most size. */
uint32_t machine_info(char *text, uint32_t size);
const char *machine_set_time(uint64_t ms);
const char *machine_set_identity(const uint8_t *payload, uint32_t n);
/* Asks PID 1 to power off; machine_power_off is for when that did not help. */
void machine_request_power_off(void);
void machine_power_off(void);

#endif
