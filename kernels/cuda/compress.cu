// kernels/cuda/compress.cu - the mean, or a depthwise convolution, of token blocks, with gradients.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// One thread to a row. Contiguous tensors: x, dx [T, H, D], out, dout
// [compressed rows, H, D], weight, dweight [length, D]. weight = null: the mean.

__device__ int sequenceOf(const int *cu, int row) {
  int b = 0;
  while (row >= cu[b + 1])
    ++b;
  return b;
}

extern "C" __global__ void __launch_bounds__(128)
    compress_fwd(const float *x, const float *weight, float *out, const int *cu, const int *cu_cmp, int rows, int H,
                 int D, int length, int stride) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows * H)
    return;
  int i = row / H, h = row % H, b = sequenceOf(cu_cmp, i);
  int token = cu[b] + (i - cu_cmp[b]) * stride;
  for (int c = 0; c < D; ++c) {
    float sum = 0;
    for (int a = 0; a < length; ++a)
      sum += x[((long long)(token + a) * H + h) * D + c] * (weight ? weight[a * D + c] : 1.0f / (float)length);
    out[(long long)row * D + c] = sum;
  }
}

// Every compressed row that covers the token, in ascending order.
extern "C" __global__ void __launch_bounds__(128)
    compress_bwd_x(const float *weight, const float *dout, float *dx, const int *cu, const int *cu_cmp, int T, int H,
                   int D, int length, int stride) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= T * H)
    return;
  int t = row / H, h = row % H, b = sequenceOf(cu, t), position = t - cu[b];
  for (int c = 0; c < D; ++c) {
    float sum = 0;
    for (int i = cu_cmp[b]; i < cu_cmp[b + 1]; ++i) {
      int a = position - (i - cu_cmp[b]) * stride;
      if (a >= 0 && a < length)
        sum += dout[((long long)i * H + h) * D + c] * (weight ? weight[a * D + c] : 1.0f / (float)length);
    }
    dx[(long long)row * D + c] = sum;
  }
}

// One thread to a weight (a, c).
extern "C" __global__ void __launch_bounds__(128)
    compress_bwd_weight(const float *x, const float *dout, float *dweight, const int *cu, const int *cu_cmp, int rows,
                        int H, int D, int length, int stride) {
  int cell = blockIdx.x * blockDim.x + threadIdx.x;
  if (cell >= length * D)
    return;
  int a = cell / D, c = cell % D;
  float sum = 0;
  for (int i = 0; i < rows; ++i) {
    int b = sequenceOf(cu_cmp, i), token = cu[b] + (i - cu_cmp[b]) * stride + a;
    for (int h = 0; h < H; ++h)
      sum += dout[((long long)i * H + h) * D + c] * x[((long long)token * H + h) * D + c];
  }
  dweight[cell] = sum;
}
