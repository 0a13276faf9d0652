# tests/lit/lit.cfg.py - how the text tests run.
#
# By hand: ctest -L lit, or lit -v build/release/tests/lit --filter=canonicalize
import os

import lit.formats

config.name = "tessera"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)

path = [config.tessera_tools, config.llvm_tools, os.environ.get("PATH", "")]
config.environment["PATH"] = os.pathsep.join(path)
# A test sees no settings of the person who runs it.
for name in list(config.environment):
    if name.startswith("TESSERA_"):
        del config.environment[name]

config.substitutions.append(
    ("%dialect-examples", os.path.join(config.tessera_source, "scripts", "dialect-examples")))
config.substitutions.append(
    ("%docblock", os.path.join(config.tessera_source, "scripts", "checks", "docblock.py") + " " +
     os.path.join(config.tessera_source, "docs", "compiler", "gpu")))
config.substitutions.append(("%source", config.tessera_source))

for tool in ("tessera", "tessera-worker"):
    if os.path.exists(os.path.join(config.tessera_tools, tool)):
        config.available_features.add(tool)
