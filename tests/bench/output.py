"""200 MB of stdout with a bound of 1 MiB, beside Popen reading the same and throwing it away."""

from __future__ import annotations

import resource
import subprocess
import tempfile

from runner import run

from .measure import interleaved, show

SIZE = 200_000_000
COMMAND = ["head", "-c", str(SIZE), "/dev/zero"]


def _popen() -> None:
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        while process.stdout.read(65536):
            pass


def flood() -> None:
    with tempfile.TemporaryDirectory() as folder:
        limits = {"stdout": 1 << 20, "total_output": 1 << 30}

        def ours() -> None:
            result = run(COMMAND, read=[folder], limits=limits)
            assert result.stdout_truncated, result

        ours()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        found = interleaved({"Popen, thrown away": _popen, "fumehood, 1 MiB kept": ours}, 7)
        growth = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    show("200 MB of output", found, "Popen, thrown away", "rate >= 0.7 x, so time <= 1.43 x")
    print(f"  rate {found['Popen, thrown away'] / found['fumehood, 1 MiB kept']:.2f} x; peak memory grew by {growth / 1024:.1f} MiB (target: <= 8)")
