// kernels/cuda/selection.cu - block scores from the compressed attention and the best n blocks.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The oracle of Eqs. 9 to 12, one thread to a row. Contiguous tensors: q [T, Hq, D],
// k [compressed rows, Hkv, D], lse [T, Hq] of the compressed attention,
// scores [Hkv, T, blocks], index [Hkv, T, slots].

__device__ int sequenceOf(const int *cu, int row) {
  int b = 0;
  while (row >= cu[b + 1])
    ++b;
  return b;
}

// Tokens that compressed block i and selection block j share.
__device__ int overlap(int i, int j, int length, int stride, int block) {
  int from = i * stride > j * block ? i * stride : j * block;
  int to = i * stride + length < (j + 1) * block ? i * stride + length : (j + 1) * block;
  return to > from ? to - from : 0;
}

// One thread to (group, t, block): the probabilities of the group's heads, weighted
// by overlap / unit. unit is stride, or length where stride divides neither length.
// Blocks behind the query are 0.
extern "C" __global__ void __launch_bounds__(128)
    block_scores(const float *q, const float *k, const float *lse, float *scores, const int *cu, const int *cu_cmp,
                 int T, int Hq, int Hkv, int D, int blocks, float scale, int length, int stride, int block, int unit) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= Hkv * T * blocks)
    return;
  int j = row % blocks, t = row / blocks % T, group = row / blocks / T;
  int b = sequenceOf(cu, t), position = t - cu[b];
  int seen = position + 1 < length ? 0 : (position + 1 - length) / stride + 1;
  float score = 0;
  for (int i = 0; i < seen; ++i) {
    int shared = overlap(i, j, length, stride, block);
    if (shared == 0 || j * block > position)
      continue;
    const float *key = k + ((long long)(cu_cmp[b] + i) * Hkv + group) * D;
    float mass = 0;
    for (int g = 0; g < Hq / Hkv; ++g) {
      int h = group * (Hq / Hkv) + g;
      const float *query = q + ((long long)t * Hq + h) * D;
      float s = 0;
      for (int d = 0; d < D; ++d)
        s += query[d] * key[d];
      mass += expf(scale * s - lse[(long long)t * Hq + h]);
    }
    score += mass * ((float)shared / (float)unit);
  }
  scores[row] = score;
}

// Whether block a is picked before block b: the higher score, then the lower
// index; NaN after every number.
__device__ bool before(float scoreA, int a, float scoreB, int b) {
  bool nanA = scoreA != scoreA, nanB = scoreB != scoreB;
  if (nanA || nanB)
    return nanA == nanB ? a < b : nanB;
  return scoreA > scoreB || (scoreA == scoreB && a < b);
}

// One thread to (group, t). A block is chosen when it is forced, or when fewer than
// slots - forced candidates come before it.
extern "C" __global__ void __launch_bounds__(128)
    select_blocks(const float *scores, int *index, const int *cu, int T, int Hkv, int blocks, int slots, int block,
                  int initial, int local) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= Hkv * T)
    return;
  int t = row % T, position = t - cu[sequenceOf(cu, t)], current = position / block;
  const float *score = scores + (long long)row * blocks;
  int *out = index + (long long)row * slots;
  int forced = 0;
  for (int j = 0; j <= current; ++j)
    forced += j < initial || j > current - local;
  int used = 0;
  for (int j = 0; j <= current; ++j) {
    bool chosen = j < initial || j > current - local;
    if (!chosen) {
      int ahead = 0;
      for (int i = 0; i <= current; ++i)
        if (!(i < initial || i > current - local))
          ahead += before(score[i], i, score[j], j);
      chosen = ahead < slots - forced;
    }
    if (chosen && used < slots)
      out[used++] = j;
  }
  while (used < slots)
    out[used++] = -1;
}
