/* A stand-in for NVIDIA's libnvidia-ml.so.1, driven by the environment, so that the tests go through the real pynvml.
 *
 *   FAKE_NVML_INIT     return code of nvmlInit (9 driver not loaded, 18 version mismatch, 4 no permission, 999 unknown)
 *   FAKE_NVML_HANG     the function that never returns: init, count or name
 *   FAKE_NVML_CRASH    the function that kills the process: name
 *   FAKE_NVML_GPUS     number of devices, 2 by default
 *   FAKE_NVML_NAME     device name; FAKE_NVML_CC, compute capability as 90; FAKE_NVML_MIB, total memory
 *   FAKE_NVML_LOST     index of a device that is lost from its handle on; FAKE_NVML_LOST_LATE, from its memory on
 *   FAKE_NVML_DENIED   index of a device that may not be opened
 *   FAKE_NVML_MIG      1: MIG is on, 0: off; unset: not supported
 *   FAKE_NVML_ECC      uncorrected errors; unset: not supported
 *   FAKE_NVML_REMAP    1: a row remap is pending
 * Compiled with -DOLD_DRIVER the newer functions are missing, as on an old driver.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, NOT_SUPPORTED = 3, NO_PERMISSION = 4, LOST = 15 };
typedef void *device_t;
typedef struct { unsigned long long total, free, used; } memory_t;

static const char *text(const char *key, const char *otherwise) {
    const char *value = getenv(key);
    return value && *value ? value : otherwise;
}
static int number(const char *key, int otherwise) {
    const char *value = getenv(key);
    return value && *value ? atoi(value) : otherwise;
}
static void misbehave(const char *function) {
    if (!strcmp(text("FAKE_NVML_HANG", ""), function)) for (;;) pause();
    if (!strcmp(text("FAKE_NVML_CRASH", ""), function)) raise(SIGSEGV);
}
static int index_of(device_t device) { return (int)((long)device) - 1; }

int nvmlInitWithFlags(unsigned flags) { (void)flags; misbehave("init"); return number("FAKE_NVML_INIT", OK); }
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int code) { (void)code; return "an error that only the fake knows"; }
int nvmlSystemGetDriverVersion(char *out, unsigned size) { snprintf(out, size, "570.133.20"); return OK; }
int nvmlSystemGetCudaDriverVersion(int *out) { *out = 12080; return OK; }
int nvmlDeviceGetCount_v2(unsigned *out) { misbehave("count"); *out = number("FAKE_NVML_GPUS", 2); return OK; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, device_t *out) {
    if ((int)index == number("FAKE_NVML_LOST", -1)) return LOST;
    if ((int)index == number("FAKE_NVML_DENIED", -1)) return NO_PERMISSION;
    *out = (device_t)((long)index + 1);
    return OK;
}
int nvmlDeviceGetName(device_t device, char *out, unsigned size) {
    (void)device;
    misbehave("name");
    snprintf(out, size, "%s", text("FAKE_NVML_NAME", "NVIDIA H100 80GB HBM3"));
    return OK;
}
int nvmlDeviceGetUUID(device_t device, char *out, unsigned size) {
    snprintf(out, size, "GPU-00000000-0000-0000-0000-%012d", index_of(device));
    return OK;
}
int nvmlDeviceGetCudaComputeCapability(device_t device, int *major, int *minor) {
    (void)device;
    *major = number("FAKE_NVML_CC", 90) / 10, *minor = number("FAKE_NVML_CC", 90) % 10;
    return OK;
}
int nvmlDeviceGetMemoryInfo(device_t device, memory_t *out) {
    if (index_of(device) == number("FAKE_NVML_LOST_LATE", -1)) return LOST;
    if (!strcmp(text("FAKE_NVML_MIB", ""), "none")) return NOT_SUPPORTED;
    out->total = (unsigned long long)number("FAKE_NVML_MIB", 81559) << 20;
    out->free = out->total, out->used = 0;
    return OK;
}
#ifndef OLD_DRIVER
int nvmlSystemGetCudaDriverVersion_v2(int *out) { *out = 12080; return OK; }
int nvmlDeviceGetMigMode(device_t device, unsigned *current, unsigned *pending) {
    (void)device;
    if (number("FAKE_NVML_MIG", -1) < 0) return NOT_SUPPORTED;
    *current = *pending = number("FAKE_NVML_MIG", 0);
    return OK;
}
int nvmlDeviceGetTotalEccErrors(device_t device, int type, int counter, unsigned long long *out) {
    (void)device, (void)type, (void)counter;
    if (number("FAKE_NVML_ECC", -1) < 0) return NOT_SUPPORTED;
    *out = number("FAKE_NVML_ECC", 0);
    return OK;
}
int nvmlDeviceGetRemappedRows(device_t d, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failed) {
    (void)d;
    *corrected = *uncorrected = *failed = 0, *pending = number("FAKE_NVML_REMAP", 0);
    return OK;
}
#endif
