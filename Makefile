# Makefile - the commands people type. The build itself is CMake (CMakePresets.json).
# SPDX-License-Identifier: Apache-2.0
.DEFAULT_GOAL := help
.PHONY: help train test test-full build bench check

JOBS ?= $(shell nproc)
CONFIG ?= configs/quickstart.yaml

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

train: ## install, build, and train the quick-start model (CONFIG=configs/x.yaml)
	@scripts/setup train
	@scripts/build release
	build/release/bin/tessera train --config $(CONFIG)

test: ## install, check, build, and run every test
	@scripts/setup full
	@scripts/check
	@scripts/build dev
	ctest --test-dir build/dev --output-on-failure --no-tests=error -j $(JOBS) -LE 'full'

test-full: ## the tests above and the long ones
	@scripts/setup full
	@scripts/check
	@scripts/build dev
	ctest --test-dir build/dev --output-on-failure --no-tests=error

build: ## build the optimized binaries into build/release/bin
	@scripts/setup train
	@scripts/build release

bench: ## build and run the benchmarks
	@scripts/setup full
	@scripts/build release -DTESSERA_BENCH=ON
	@scripts/run-benchmarks build/release

check: ## format, include directions, file sizes, docs
	@scripts/check
