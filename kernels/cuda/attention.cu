// kernels/cuda/attention.cu - the four attentions of NSA as plain loops, forward and backward.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// An oracle, written from the definitions and sharing nothing with the tile
// kernels: fp32, one thread to a row, no shared memory, no atomics. Branches differ
// only in the keys that a query sees. All tensors are contiguous: q, dq [T, Hq, D],
// k, dk [S, Hkv, D], v, dv [S, Hkv, E], o, dout [T, Hq, E], lse [T, Hq] (natural
// logarithm). S is T, but the number of compressed rows for compressed attention.
// cu has batches + 1 entries. Launch at least as many threads as there are rows.

// Key rows that one query sees: `count` half-open ranges, disjoint.
struct DenseKeys {
  int start, t; // rows: the sequence's first, the query's
  __device__ int count() const { return 1; }
  __device__ void range(int, int &from, int &to) const {
    from = start;
    to = t + 1;
  }
  __device__ bool sees(int s) const { return s <= t; }
};

struct WindowKeys {
  int start, t, window;
  __device__ int count() const { return 1; }
  __device__ void range(int, int &from, int &to) const {
    from = t + 1 - window > start ? t + 1 - window : start;
    to = t + 1;
  }
  __device__ bool sees(int s) const { return s <= t && s > t - window; }
};

// Compressed row i of a sequence covers tokens i*stride .. i*stride + length - 1
// and is seen when all of them are at or before the query.
struct CompressedKeys {
  int start, t, first, length, stride; // first: the sequence's first key row
  __device__ int count() const { return 1; }
  __device__ void range(int, int &from, int &to) const {
    int position = t - start;
    from = first;
    to = first + (position + 1 < length ? 0 : (position + 1 - length) / stride + 1);
  }
  __device__ bool sees(int s) const { return (s - first) * stride + length <= t - start + 1; }
};

struct SelectedKeys {
  int start, t, slots, block;
  // [slots]: blocks of this query in any order; negative ones and those after
  // the query name no keys
  const int *index;
  __device__ int count() const { return slots; }
  __device__ void range(int slot, int &from, int &to) const {
    int chosen = index[slot];
    from = to = start;
    bool named = chosen >= 0 && chosen <= (t - start) / block;
    for (int i = 0; i < slot; ++i) // a block counts once
      named = named && index[i] != chosen;
    if (!named)
      return;
    from = start + chosen * block;
    to = from + block < t + 1 ? from + block : t + 1;
  }
  __device__ bool sees(int s) const {
    bool found = false;
    for (int i = 0; i < slots; ++i)
      found = found || index[i] == (s - start) / block;
    return found && s <= t;
  }
};

__device__ int sequenceOf(const int *cu, int row) {
  int b = 0;
  while (row >= cu[b + 1])
    ++b;
  return b;
}

__device__ float dot(const float *a, const float *b, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i)
    sum += a[i] * b[i];
  return sum;
}

struct Sizes {
  int T, Hq, Hkv, D, E;
  float scale;
};

// Row (t, h): the largest score, then the sum of exponentials, then the output.
template <class Keys>
__device__ void forwardRow(Keys keys, Sizes z, int t, int h, const float *q, const float *k, const float *v, float *o,
                           float *lse) {
  int group = h / (z.Hq / z.Hkv);
  const float *query = q + ((long long)t * z.Hq + h) * z.D;
  float *out = o + ((long long)t * z.Hq + h) * z.E;
  float peak = -__int_as_float(0x7f800000);
  for (int r = 0; r < keys.count(); ++r) {
    int from, to;
    keys.range(r, from, to);
    for (int s = from; s < to; ++s)
      peak = fmaxf(peak, z.scale * dot(query, k + ((long long)s * z.Hkv + group) * z.D, z.D));
  }
  float total = 0;
  for (int e = 0; e < z.E; ++e)
    out[e] = 0;
  for (int r = 0; r < keys.count(); ++r) {
    int from, to;
    keys.range(r, from, to);
    for (int s = from; s < to; ++s) {
      long long key = (long long)s * z.Hkv + group;
      float p = expf(z.scale * dot(query, k + key * z.D, z.D) - peak);
      total += p;
      for (int e = 0; e < z.E; ++e)
        out[e] += p * v[key * z.E + e];
    }
  }
  for (int e = 0; e < z.E; ++e)
    out[e] = total > 0 ? out[e] / total : 0.0f;
  lse[(long long)t * z.Hq + h] = total > 0 ? peak + logf(total) : -__int_as_float(0x7f800000);
}

// dS of one (query, key): P * (dout . v - delta), and P itself.
__device__ float scoreGradient(Sizes z, const float *query, const float *key, const float *value, const float *dout,
                               float lse, float delta, float &p) {
  p = expf(z.scale * dot(query, key, z.D) - lse);
  return p * (dot(dout, value, z.E) - delta);
}

template <class Keys>
__device__ void backwardQueryRow(Keys keys, Sizes z, int t, int h, const float *q, const float *k, const float *v,
                                 const float *o, const float *lse, const float *dout, float *dq) {
  int group = h / (z.Hq / z.Hkv);
  long long row = (long long)t * z.Hq + h;
  float delta = dot(dout + row * z.E, o + row * z.E, z.E);
  for (int d = 0; d < z.D; ++d)
    dq[row * z.D + d] = 0;
  for (int r = 0; r < keys.count(); ++r) {
    int from, to;
    keys.range(r, from, to);
    for (int s = from; s < to; ++s) {
      long long key = (long long)s * z.Hkv + group;
      float p;
      float ds = scoreGradient(z, q + row * z.D, k + key * z.D, v + key * z.E, dout + row * z.E,
                               lse[(long long)t * z.Hq + h], delta, p);
      for (int d = 0; d < z.D; ++d)
        dq[row * z.D + d] += z.scale * ds * k[key * z.D + d];
    }
  }
}

// Adds what query row (t, h) gives to key row (s, group).
__device__ void addToKeyRow(Sizes z, int t, int h, long long key, const float *q, const float *k, const float *v,
                            const float *o, const float *lse, const float *dout, float *dk, float *dv) {
  long long row = (long long)t * z.Hq + h;
  float delta = dot(dout + row * z.E, o + row * z.E, z.E), p;
  float ds = scoreGradient(z, q + row * z.D, k + key * z.D, v + key * z.E, dout + row * z.E,
                           lse[(long long)t * z.Hq + h], delta, p);
  for (int d = 0; d < z.D; ++d)
    dk[key * z.D + d] += z.scale * ds * q[row * z.D + d];
  for (int e = 0; e < z.E; ++e)
    dv[key * z.E + e] += p * dout[row * z.E + e];
}

__device__ void clearKeyRow(Sizes z, long long key, float *dk, float *dv) {
  for (int d = 0; d < z.D; ++d)
    dk[key * z.D + d] = 0;
  for (int e = 0; e < z.E; ++e)
    dv[key * z.E + e] = 0;
}

__device__ int threadRow() { return blockIdx.x * blockDim.x + threadIdx.x; }

// ---- dense causal attention -------------------------------------------------

extern "C" __global__ void __launch_bounds__(128)
    dense_fwd(const float *q, const float *k, const float *v, float *o, float *lse, const int *cu, int T, int Hq, int Hkv,
              int D, int E, float scale) {
  int row = threadRow();
  if (row >= T * Hq)
    return;
  int t = row / Hq, h = row % Hq;
  forwardRow(DenseKeys{cu[sequenceOf(cu, t)], t}, Sizes{T, Hq, Hkv, D, E, scale}, t, h, q, k, v, o, lse);
}

extern "C" __global__ void __launch_bounds__(128)
    dense_bwd_q(const float *q, const float *k, const float *v, const float *o, const float *lse, const float *dout,
                float *dq, const int *cu, int T, int Hq, int Hkv, int D, int E, float scale) {
  int row = threadRow();
  if (row >= T * Hq)
    return;
  int t = row / Hq, h = row % Hq;
  backwardQueryRow(DenseKeys{cu[sequenceOf(cu, t)], t}, Sizes{T, Hq, Hkv, D, E, scale}, t, h, q, k, v, o, lse, dout, dq);
}

extern "C" __global__ void __launch_bounds__(128)
    dense_bwd_kv(const float *q, const float *k, const float *v, const float *o, const float *lse, const float *dout,
                 float *dk, float *dv, const int *cu, int T, int Hq, int Hkv, int D, int E, float scale) {
  int key = threadRow();
  if (key >= T * Hkv)
    return;
  int s = key / Hkv, group = key % Hkv, end = cu[sequenceOf(cu, s) + 1];
  Sizes z{T, Hq, Hkv, D, E, scale};
  clearKeyRow(z, key, dk, dv);
  for (int t = s; t < end; ++t)
    for (int g = 0; g < Hq / Hkv; ++g)
      addToKeyRow(z, t, group * (Hq / Hkv) + g, key, q, k, v, o, lse, dout, dk, dv);
}

// ---- sliding window ---------------------------------------------------------

extern "C" __global__ void __launch_bounds__(128)
    window_fwd(const float *q, const float *k, const float *v, float *o, float *lse, const int *cu, int T, int Hq,
               int Hkv, int D, int E, float scale, int window) {
  int row = threadRow();
  if (row >= T * Hq)
    return;
  int t = row / Hq, h = row % Hq;
  forwardRow(WindowKeys{cu[sequenceOf(cu, t)], t, window}, Sizes{T, Hq, Hkv, D, E, scale}, t, h, q, k, v, o, lse);
}

extern "C" __global__ void __launch_bounds__(128)
    window_bwd_q(const float *q, const float *k, const float *v, const float *o, const float *lse, const float *dout,
                 float *dq, const int *cu, int T, int Hq, int Hkv, int D, int E, float scale, int window) {
  int row = threadRow();
  if (row >= T * Hq)
    return;
  int t = row / Hq, h = row % Hq;
  backwardQueryRow(WindowKeys{cu[sequenceOf(cu, t)], t, window}, Sizes{T, Hq, Hkv, D, E, scale}, t, h, q, k, v, o, lse,
                   dout, dq);
}

extern "C" __global__ void __launch_bounds__(128)
    window_bwd_kv(const float *q, const float *k, const float *v, const float *o, const float *lse, const float *dout,
                  float *dk, float *dv, const int *cu, int T, int Hq, int Hkv, int D, int E, float scale, int window) {
  int key = threadRow();
  if (key >= T * Hkv)
    return;
  int s = key / Hkv, group = key % Hkv, end = cu[sequenceOf(cu, s) + 1];
  Sizes z{T, Hq, Hkv, D, E, scale};
  clearKeyRow(z, key, dk, dv);
  for (int t = s; t < end; ++t)
    for (int g = 0; g < Hq / Hkv; ++g)
      if (WindowKeys{0, t, window}.sees(s))
        addToKeyRow(z, t, group * (Hq / Hkv) + g, key, q, k, v, o, lse, dout, dk, dv);
}

// ---- compressed tokens; cu_cmp: first compressed row of every sequence --------

extern "C" __global__ void __launch_bounds__(128)
    compressed_fwd(const float *q, const float *k, const float *v, float *o, float *lse, const int *cu,
                   const int *cu_cmp, int T, int Hq, int Hkv, int D, int E, float scale, int length, int stride) {
  int row = threadRow();
  if (row >= T * Hq)
    return;
  int t = row / Hq, h = row % Hq, b = sequenceOf(cu, t);
  forwardRow(CompressedKeys{cu[b], t, cu_cmp[b], length, stride}, Sizes{T, Hq, Hkv, D, E, scale}, t, h, q, k, v, o, lse);
}

extern "C" __global__ void __launch_bounds__(128)
    compressed_bwd_q(const float *q, const float *k, const float *v, const float *o, const float *lse,
                     const float *dout, float *dq, const int *cu, const int *cu_cmp, int T, int Hq, int Hkv, int D,
                     int E, float scale, int length, int stride) {
  int row = threadRow();
  if (row >= T * Hq)
    return;
  int t = row / Hq, h = row % Hq, b = sequenceOf(cu, t);
  backwardQueryRow(CompressedKeys{cu[b], t, cu_cmp[b], length, stride}, Sizes{T, Hq, Hkv, D, E, scale}, t, h, q, k, v, o,
                   lse, dout, dq);
}

// rows: compressed rows in all.
extern "C" __global__ void __launch_bounds__(128)
    compressed_bwd_kv(const float *q, const float *k, const float *v, const float *o, const float *lse,
                      const float *dout, float *dk, float *dv, const int *cu, const int *cu_cmp, int rows, int T, int Hq,
                      int Hkv, int D, int E, float scale, int length, int stride) {
  int key = threadRow();
  if (key >= rows * Hkv)
    return;
  int s = key / Hkv, group = key % Hkv, b = sequenceOf(cu_cmp, s);
  Sizes z{T, Hq, Hkv, D, E, scale};
  clearKeyRow(z, key, dk, dv);
  for (int t = cu[b]; t < cu[b + 1]; ++t)
    for (int g = 0; g < Hq / Hkv; ++g)
      if (CompressedKeys{cu[b], t, cu_cmp[b], length, stride}.sees(s))
        addToKeyRow(z, t, group * (Hq / Hkv) + g, key, q, k, v, o, lse, dout, dk, dv);
}

// ---- selected blocks; index [Hkv, T, slots], -1 for none -----------------------

extern "C" __global__ void __launch_bounds__(128)
    selected_fwd(const float *q, const float *k, const float *v, const int *index, float *o, float *lse, const int *cu,
                 int T, int Hq, int Hkv, int D, int E, float scale, int slots, int block) {
  int row = threadRow();
  if (row >= T * Hq)
    return;
  int t = row / Hq, h = row % Hq, group = h / (Hq / Hkv);
  SelectedKeys keys{cu[sequenceOf(cu, t)], t, slots, block, index + ((long long)group * T + t) * slots};
  forwardRow(keys, Sizes{T, Hq, Hkv, D, E, scale}, t, h, q, k, v, o, lse);
}

extern "C" __global__ void __launch_bounds__(128)
    selected_bwd_q(const float *q, const float *k, const float *v, const int *index, const float *o, const float *lse,
                   const float *dout, float *dq, const int *cu, int T, int Hq, int Hkv, int D, int E, float scale,
                   int slots, int block) {
  int row = threadRow();
  if (row >= T * Hq)
    return;
  int t = row / Hq, h = row % Hq, group = h / (Hq / Hkv);
  SelectedKeys keys{cu[sequenceOf(cu, t)], t, slots, block, index + ((long long)group * T + t) * slots};
  backwardQueryRow(keys, Sizes{T, Hq, Hkv, D, E, scale}, t, h, q, k, v, o, lse, dout, dq);
}

extern "C" __global__ void __launch_bounds__(128)
    selected_bwd_kv(const float *q, const float *k, const float *v, const int *index, const float *o, const float *lse,
                    const float *dout, float *dk, float *dv, const int *cu, int T, int Hq, int Hkv, int D, int E,
                    float scale, int slots, int block) {
  int key = threadRow();
  if (key >= T * Hkv)
    return;
  int s = key / Hkv, group = key % Hkv, b = sequenceOf(cu, s);
  Sizes z{T, Hq, Hkv, D, E, scale};
  clearKeyRow(z, key, dk, dv);
  for (int t = s; t < cu[b + 1]; ++t) {
    SelectedKeys keys{cu[b], t, slots, block, index + ((long long)group * T + t) * slots};
    for (int g = 0; g < Hq / Hkv; ++g)
      if (keys.sees(s))
        addToKeyRow(z, t, group * (Hq / Hkv) + g, key, q, k, v, o, lse, dout, dk, dv);
  }
}
