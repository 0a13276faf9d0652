"""The torch ops of tessera as plain functions; ops.pyi has their types, and
docs/torch-ops.md says what their arguments are.

Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
"""
import torch

_ops = torch.ops.tessera
compressed_offsets = _ops.compressed_offsets
nsa_compress = _ops.nsa_compress
nsa_compressed_attention = _ops.nsa_compressed_attention
nsa_select = _ops.nsa_select
nsa_select_scores = _ops.nsa_select_scores
nsa_ranges = _ops.nsa_ranges
nsa_selected_attention = _ops.nsa_selected_attention
selected_attention = _ops.selected_attention
nsa_window_attention = _ops.nsa_window_attention
nsa_combine = _ops.nsa_combine
nsa_attention = _ops.nsa_attention
nsa_gated_attention = _ops.nsa_gated_attention
pooled_select = _ops.pooled_select
compressed_select = _ops.compressed_select
indexer_select = _ops.indexer_select
block_mass = _ops.block_mass
indexer_loss = _ops.indexer_loss
dense_attention = _ops.dense_attention
decode_attention = _ops.decode_attention
custom_attention = _ops.custom_attention
attention = _ops.attention
pattern_decode = _ops.pattern_decode
pattern_first_reader = _ops.pattern_first_reader
rms_norm = _ops.rms_norm
residual_norm = _ops.residual_norm
linear_cross_entropy = _ops.linear_cross_entropy
mlp_activation = _ops.mlp_activation
rope_table = _ops.rope_table
rope = _ops.rope
launch = _ops.launch
kernel_stats = _ops.kernel_stats
