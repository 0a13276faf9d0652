// kernels/cuda/gate.cu - gates of the three branches and their weighted sum, with gradients.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// One thread to a row. Contiguous tensors: logits, gates [T, Hkv, 3] in the order
// compressed, selected, window; branches and out [T, Hq, E].

extern "C" __global__ void __launch_bounds__(128)
    gate_fwd(const float *logits, float *gates, int rows, float tau, int softmax) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  const float *a = logits + 3 * row;
  float *g = gates + 3 * row;
  if (softmax) {
    float peak = fmaxf(a[0], fmaxf(a[1], a[2])), total = 0;
    for (int i = 0; i < 3; ++i) {
      g[i] = expf((a[i] - peak) / tau);
      total += g[i];
    }
    for (int i = 0; i < 3; ++i)
      g[i] /= total;
  } else {
    for (int i = 0; i < 3; ++i)
      g[i] = 1.0f / (1.0f + expf(-a[i] / tau));
  }
}

extern "C" __global__ void __launch_bounds__(128)
    gate_bwd(const float *gates, const float *dgates, float *dlogits, int rows, float tau, int softmax) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  const float *g = gates + 3 * row, *dg = dgates + 3 * row;
  float mean = g[0] * dg[0] + g[1] * dg[1] + g[2] * dg[2];
  for (int i = 0; i < 3; ++i)
    dlogits[3 * row + i] = g[i] * (softmax ? dg[i] - mean : (1.0f - g[i]) * dg[i]) / tau;
}

extern "C" __global__ void __launch_bounds__(128)
    combine_fwd(const float *cmp, const float *sel, const float *win, const float *gates, float *out, int T, int Hq,
                int Hkv, int E) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= T * Hq)
    return;
  int t = row / Hq, group = row % Hq / (Hq / Hkv);
  const float *g = gates + 3 * ((long long)t * Hkv + group);
  for (int e = 0; e < E; ++e) {
    long long at = (long long)row * E + e;
    out[at] = g[0] * cmp[at] + g[1] * sel[at] + g[2] * win[at];
  }
}

extern "C" __global__ void __launch_bounds__(128)
    combine_bwd_branches(const float *gates, const float *dout, float *dcmp, float *dsel, float *dwin, int T, int Hq,
                         int Hkv, int E) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= T * Hq)
    return;
  int t = row / Hq, group = row % Hq / (Hq / Hkv);
  const float *g = gates + 3 * ((long long)t * Hkv + group);
  for (int e = 0; e < E; ++e) {
    long long at = (long long)row * E + e;
    dcmp[at] = g[0] * dout[at];
    dsel[at] = g[1] * dout[at];
    dwin[at] = g[2] * dout[at];
  }
}

// One thread to (t, group): sums over the group's heads.
extern "C" __global__ void __launch_bounds__(128)
    combine_bwd_gates(const float *cmp, const float *sel, const float *win, const float *dout, float *dgates, int T,
                      int Hq, int Hkv, int E) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= T * Hkv)
    return;
  int t = row / Hkv, group = row % Hkv, heads = Hq / Hkv;
  float c = 0, s = 0, w = 0;
  for (int h = group * heads; h < (group + 1) * heads; ++h)
    for (int e = 0; e < E; ++e) {
      long long at = ((long long)t * Hq + h) * E + e;
      c += dout[at] * cmp[at];
      s += dout[at] * sel[at];
      w += dout[at] * win[at];
    }
  dgates[3 * row] = c;
  dgates[3 * row + 1] = s;
  dgates[3 * row + 2] = w;
}
