// tests/unit/runtime/device/fake_cuda.c - a driver without a GPU: its memory is the
// host's, its one kernel adds. Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The kernel is add(x: *fp32, y: *fp32, n: i32, s: fp32, wide: i64): the
// blocks' threads do y[i] = x[i] + s + wide for i < n. Images begin with
// "GOOD", or with "PTX" if they represent text. FAKE_CUDA: "none" (no GPU),
// "old" (7.5), "full" (no memory), "fail" (launches fail), "refuse" (every
// image is refused). Parameters after the fifth are ignored.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int is(const char *what) {
  const char *mode = getenv("FAKE_CUDA");
  return mode && strcmp(mode, what) == 0;
}

int cuInit(unsigned flags) { return flags != 0; }
int cuGetErrorName(int result, const char **text) {
  *text = result == 2     ? "CUDA_ERROR_OUT_OF_MEMORY"
          : result == 209 ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
          : result == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                          : "CUDA_ERROR_UNKNOWN";
  return 0;
}
int cuGetErrorString(int result, const char **text) {
  *text = result == 700 ? "an illegal memory access was encountered" : "words";
  return 0;
}
int cuDriverGetVersion(int *version) {
  *version = 12080;
  return 0;
}
int cuDeviceGetCount(int *count) {
  *count = is("none") ? 0 : 1;
  return 0;
}
int cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return 0;
}
int cuDeviceGetName(char *name, int length, int device) {
  strncpy(name, "Fake GPU", (size_t)length);
  return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  *value = attribute == 75   ? (is("old") ? 7 : 9)
           : attribute == 76 ? (is("old") ? 5 : 0)
                             : 0;
  return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int device) {
  *context = (void *)8;
  return 0;
}
static _Thread_local void *current;
int cuCtxSetCurrent(void *context) {
  current = context;
  return 0;
}
static int failed;
int cuCtxSynchronize(void) {
  int result = failed;
  failed = 0;
  return result;
}
int cuStreamSynchronize(void *stream) { return cuCtxSynchronize(); }
int cuStreamIsCapturing(void *stream, int *status) {
  *status = 0;
  return 0;
}
static int modules;
int fakeModules(void) { return modules; }
int cuModuleLoadData(void **module, const void *image) {
  if (memcmp(image, "PTX", 3) != 0 && memcmp(image, "GOOD", 4) != 0)
    return 209;
  ++modules;
  *module = (void *)16;
  return 0;
}
static int jitMinBlocks;
int fakeJitMinBlocks(void) { return jitMinBlocks; }
int cuModuleLoadDataEx(void **module, const void *image, unsigned count,
                       int *options, void **values) {
  jitMinBlocks = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] != 31)
      return 1;
    jitMinBlocks = (int)(size_t)values[i];
  }
  return cuModuleLoadData(module, image);
}
int cuModuleUnload(void *module) {
  --modules;
  return 0;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
  *function = (void *)24;
  return strcmp(name, "add") == 0 ? 0 : 500;
}
static int dynamicShared;
int fakeDynamicShared(void) { return dynamicShared; }
int cuFuncSetAttribute(void *function, int attribute, int value) {
  if (attribute != 8)
    return 1;
  dynamicShared = value;
  return 0;
}
static void *lastStream;
int fakeStream(void) { return (int)(size_t)lastStream; }
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz,
                   unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   void *stream, void **parameters, void **extra) {
  const float *x = *(const float **)parameters[0];
  float *y = *(float **)parameters[1];
  const int n = *(int *)parameters[2];
  const float s = *(float *)parameters[3];
  const int64_t wide = *(int64_t *)parameters[4];
  if (is("fail")) {
    failed = 700;
    return 0;
  }
  if (!current || extra || by != 1 || bz != 1 || is("refuse"))
    return 1;
  lastStream = stream;
  for (unsigned i = 0; i < gx * gy * gz * bx; ++i)
    if ((int)i < n)
      y[i] = x[i] + s + (float)wide;
  return 0;
}
static int allocations;
int fakeAllocations(void) { return allocations; }
int cuMemAlloc_v2(unsigned long long *address, size_t bytes) {
  if (is("full"))
    return 2;
  ++allocations;
  *address = (unsigned long long)aligned_alloc(256, (bytes + 255) / 256 * 256);
  return 0;
}
int cuMemFree_v2(unsigned long long address) {
  --allocations;
  free((void *)address);
  return 0;
}
int cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t bytes) {
  memcpy((void *)to, from, bytes);
  return 0;
}
int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes) {
  memcpy(to, (void *)from, bytes);
  return 0;
}
int cuMemsetD8Async(unsigned long long address, unsigned char value,
                    size_t bytes, void *stream) {
  memset((void *)address, value, bytes);
  return 0;
}
static int events;
int cuEventCreate(void **event, unsigned flags) {
  ++events;
  *event = (void *)32;
  return 0;
}
int cuEventRecord(void *event, void *stream) { return 0; }
int cuEventSynchronize(void *event) { return 0; }
int cuEventElapsedTime(float *passed, void *start, void *end) {
  *passed = 0.25f;
  return 0;
}
int cuEventDestroy_v2(void *event) {
  --events;
  return 0;
}
