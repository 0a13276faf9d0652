/* tests/author/cuda/driver.c - a libcuda that prints each call; its
 * kernels take three pointers and an i32. Copyright the tessera authors.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"

#include <stdio.h>
#include <string.h>

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
  *module = (CUmodule)(size_t)16;
  printf("load %s\n", memcmp(image, "\177ELF", 4) == 0 ? "cubin" : "PTX");
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module,
                             const char *name) {
  *function = (CUfunction)(size_t)24;
  printf("function %s of %d\n", name, (int)(size_t)module);
  return strcmp(name, "matmul") == 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute,
                            int value) {
  printf("attribute %d of %d: %d\n", (int)attribute, (int)(size_t)function,
         value);
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy,
                        unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, CUstream stream, void **values,
                        void **extra) {
  (void)shared;
  printf("launch %d: %u %u %u x %u %u %u, %d, %llu %llu %llu %d\n",
         (int)(size_t)function, gx, gy, gz, bx, by, bz,
         stream == 0 && extra == 0, *(CUdeviceptr *)values[0],
         *(CUdeviceptr *)values[1], *(CUdeviceptr *)values[2],
         *(int *)values[3]);
  return CUDA_SUCCESS;
}
