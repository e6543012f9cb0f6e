"""Run every benchmark, or those named: python -m tests.bench [warm back big oneshot output pipeline parallel work import]."""

from __future__ import annotations

import sys

from . import oneshot, output, parallel, pipeline, warm, work

TABLE = {
    "warm": warm.paused,
    "back": warm.back_to_back,
    "big": warm.big_caller,
    "oneshot": oneshot.oneshot,
    "import": oneshot.imports,
    "output": output.flood,
    "pipeline": pipeline.eight_stages,
    "parallel": parallel.many,
    "work": work.tax,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or TABLE:
        TABLE[name]()
