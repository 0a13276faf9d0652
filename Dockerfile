# Dockerfile - both commands of the README in an empty Debian 12.
# SPDX-License-Identifier: Apache-2.0
#
# One stage for each command; the copy is that of the checkout, without what .dockerignore names:
#
#     docker build --target train -t tessera:train .      # make train: installs, builds, trains the quick-start model
#     docker build --target test -t tessera:test .        # make test: installs what tests need, builds, runs the tests
#     docker run --rm -it tessera:train build/release/bin/tessera generate --run runs/quickstart --prompt "And God said"
#
# The processor of the build needs AVX2, and the build needs 8 GB of memory. Code is compiled for the processor it runs on when a
# kernel is first used, so an image can run on another machine with AVX2.
FROM debian:12 AS base
RUN apt-get update && apt-get install -y git make
WORKDIR /tessera
COPY . .
# The checks and the wheel ask git for the tracked files.
RUN git config --global --add safe.directory /tessera && (git rev-parse -q --verify HEAD || \
    (rm -rf .git && git init -q && git add -A && git -c user.name=image -c user.email=image@localhost commit -qm "the copied checkout"))

FROM base AS train
RUN make train

FROM base AS test
RUN make test
