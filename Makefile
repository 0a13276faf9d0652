# Makefile - the commands people type. The build itself is CMake (CMakePresets.json).
# SPDX-License-Identifier: Apache-2.0
.DEFAULT_GOAL := help
.PHONY: help train test test-full build bench check docs codegen-report fuzz results-check results sim-test sim-mutants sim-schedules verify-ptx

JOBS ?= $(shell nproc)
CONFIG ?= configs/quickstart.yaml

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' Makefile

train: ## install, build, and train the quick-start model (CONFIG=configs/x.yaml)
	@scripts/setup train
	@scripts/build release
	build/release/bin/tessera train --config $(CONFIG)

test: ## install, check, build, and run all tests but the long ones
	@scripts/setup full
	@scripts/check
	@scripts/build release all tests
	@scripts/run-tests build/release -j $(JOBS) -LE full

test-full: ## the tests above and the long ones
	@scripts/setup full
	@scripts/check
	@scripts/build release all tests
	@scripts/run-tests build/release -j $(JOBS)

build: ## build the optimized binaries into build/release/bin
	@scripts/setup train
	@scripts/build release

bench: ## build, and measure the table of a CPU (scripts/bench lists all benchmarks)
	@scripts/setup full
	@scripts/build release all
	@scripts/bench cpu --fresh

docs: ## the documentation as a site: build/site/index.html
	@scripts/docs

results: ## make the results that are older than their code (FILE=cpu.json: one; scripts/results make --list: all commands)
	@scripts/setup full
	@scripts/build release all tests cost_report cost_predict tune_truth loader_bench
	@scripts/results make $(FILE)

results-check: ## results that are older than the code that they measure
	@scripts/results check

check: ## in minutes: scripts/check, and the tests that need neither MLIR nor LibTorch
	@scripts/setup check
	@scripts/check
	@scripts/build check tests
	@scripts/run-tests build/check -j $(JOBS) -LE full

SEED ?= 1
N ?= 300
SEEDS ?= 50
MINUTES ?= 0
python = $${TESSERA_DEPS:-$${XDG_DATA_HOME:-$$HOME/.local/share}/tessera}/venv/bin/python

codegen-report: ## our PTX next to Triton's: registers, spills, executed instructions, conflicts
	@scripts/setup full
	@scripts/build release all tests
	@scripts/bench codegen sources=kernels,tutorials,fla,liger,flash_attention target=sm_80,sm_90

sim-test: ## run Triton's and NVRTC's PTX on the simulator (FULL=full: all shapes)
	@scripts/setup full
	@scripts/build release all tests
	@scripts/sim-test build/release $(FULL)

fuzz: ## random kernels with new seeds against numpy, MINUTES=20 each on the CPU and on the simulator
	@scripts/setup full
	@scripts/build release all tests
	@for device in cpu sim:sm_80; do TESSERA_DEVICE=$$device PYTHONPATH=python LIBTESSERA_TORCH=$(CURDIR)/build/release/lib/libtessera_torch.so \
	  $(python) tests/generator/run.py --seeds new --minutes $(if $(filter-out 0,$(MINUTES)),$(MINUTES),20) || exit 1; done

verify-ptx: ## prove that our PTX of kernels/ has no race in any schedule (MINUTES=20: a part; it continues where it was)
	@scripts/setup full
	@scripts/build release all tests
	@scripts/verify-ptx build/release --minutes $(MINUTES)

sim-schedules: ## the PTX of all kernels in 50 random orders, also with independent thread scheduling (MINUTES=20: a part; it continues where it was)
	@scripts/setup full
	@scripts/build release all tests
	@SIM_ABI=$(CURDIR)/build/release/lib/libtessera_sim_abi.so PROGRAM=$(CURDIR)/build/release/bin/tessera $(python) \
	  tests/simulator/schedules_all.py seeds=$(SEEDS) minutes=$(MINUTES) results=bench/results/schedules.jsonl

sim-mutants: ## inject N=300 faults (SEED=1) into real PTX; the tests must catch 98 %
	@scripts/setup full
	@scripts/build release all tests
	@SIM_ABI=$(CURDIR)/build/release/lib/libtessera_sim_abi.so $(python) tests/simulator/mutants.py seed=$(SEED) n=$(N)
