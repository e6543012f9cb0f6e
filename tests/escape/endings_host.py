"""A host process to kill: runs one command through the runner and prints what came of it.

Arguments: one JSON object of keyword arguments for runner.run, `argv` among them.
"""

from __future__ import annotations

import json
import sys

from runner import run

if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    result = run(asked.pop("argv"), stdin=b"", **asked)
    print(json.dumps({"started": result.status is not None, "error": str(result.error or ""), "limit": result.limit}))
