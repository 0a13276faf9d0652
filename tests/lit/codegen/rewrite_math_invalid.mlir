// RUN: tessera-opt %s -split-input-file -tessera-rewrite-math -verify-diagnostics

func.func @unknown(%x: f32) -> f32 {
  // expected-error @+1 {{'math.atan' op has no CPU implementation}}
  %y = math.atan %x : f32
  return %y : f32
}

// -----

// Everything that cannot be done is reported at once.
func.func @wide(%x: vector<4xf80>) -> vector<4xf80> {
  // expected-error @+1 {{has no CPU implementation on 'f80'}}
  %y = math.tanh %x : vector<4xf80>
  // expected-error @+1 {{has no CPU implementation on 'f80'}}
  %z = math.erf %y : vector<4xf80>
  return %z : vector<4xf80>
}
