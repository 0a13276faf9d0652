// RUN: tessera-opt %s -split-input-file -verify-diagnostics

// Lanes of one layout hold other elements than those of the other.
#row = #tile.linear<32, register = [], lane = [[1], [2], [4], [8], [16]], warp = []>
#rev = #tile.linear<32, register = [], lane = [[16], [8], [4], [2], [1]], warp = []>
func.func @histogram(%x: tensor<32xi32, #row>, %m: tensor<32xi1, #rev>) -> tensor<32xi32, #row> {
  // expected-error @+1 {{needs tensors of one layout}}
  %y = tile.histogram %x mask %m : tensor<32xi32, #row>, tensor<32xi1, #rev> -> tensor<32xi32, #row>
  return %y : tensor<32xi32, #row>
}

// -----

#row = #tile.linear<32, register = [], lane = [[1], [2], [4], [8], [16]], warp = []>
func.func @mixed(%x: tensor<32xf32, #row>) -> tensor<1x32xf32> {
  // expected-error @+1 {{with and without a layout}}
  %y = tile.expand_dims %x, 0 : tensor<32xf32, #row> -> tensor<1x32xf32>
  return %y : tensor<1x32xf32>
}

// -----

#row = #tile.linear<32, register = [], lane = [[1], [2], [4], [8], [16]], warp = []>
#wrong = #tile.linear<1x32, register = [], lane = [[0, 2], [0, 1], [0, 4], [0, 8], [0, 16]], warp = []>
func.func @expand(%x: tensor<32xf32, #row>) -> tensor<1x32xf32, #wrong> {
  // expected-error @+1 {{moves elements}}
  %y = tile.expand_dims %x, 0 : tensor<32xf32, #row> -> tensor<1x32xf32, #wrong>
  return %y : tensor<1x32xf32, #wrong>
}

// -----

#one = #tile.linear<1x32, register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = []>
#down = #tile.linear<32x32, register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = []>
func.func @broadcast(%x: tensor<1x32xf32, #one>) -> tensor<32x32xf32, #down> {
  // expected-error @+1 {{moves elements}}
  %y = tile.broadcast %x : tensor<1x32xf32, #one> -> tensor<32x32xf32, #down>
  return %y : tensor<32x32xf32, #down>
}

// -----

#tile = #tile.linear<4x32, register = [[1, 0], [2, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = []>
#sum = #tile.linear<4, register = [], lane = [[1], [2], [0], [0], [0]], warp = []>
func.func @reduce(%x: tensor<4x32xf32, #tile>) -> tensor<4xf32, #sum> {
  // expected-error @+1 {{moves elements}}
  %y = tile.reduce sum %x, 1 : tensor<4x32xf32, #tile> -> tensor<4xf32, #sum>
  return %y : tensor<4xf32, #sum>
}

// -----

// Renamed registers are fine.
#tile = #tile.linear<4x32, register = [[1, 0], [2, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = []>
#back = #tile.linear<32x4, register = [[0, 2], [0, 1]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = []>
func.func @trans(%x: tensor<4x32xf32, #tile>) -> tensor<32x4xf32, #back> {
  %y = tile.trans %x [1, 0] : tensor<4x32xf32, #tile> -> tensor<32x4xf32, #back>
  return %y : tensor<32x4xf32, #back>
}
