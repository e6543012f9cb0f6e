"""One confined command without a declaration: what `fumehood run` and `runner.run()` share.

The grants are the caller's own words, so no policy is asked; everything else is the same walk: resolve, fingerprint,
plan, confine, pump, report.
"""

from __future__ import annotations

import os
from time import monotonic

from . import backend, environment, host, toolchains
from .enact import CONFINED, ENFORCEABLE, Ran, captures, home_of, outcome_of, require_visible, sampled, total_memory
from .errors import IsolationError, Refusal, UsageError
from .execution.pump import Pump
from .identifier import new_request_id
from .model.command import Access, Executable, Stage
from .model.manifest import Limits
from .model.outcome import Outcome
from .model.paths import inside
from .model.record import Record
from .planning.hidden import default_hidden
from .planning.limits import fault, with_defaults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .result import Result

RUNTIME_ID = "run"
_FOREVER = float("inf")


class Job(Record):
    """limits: names of model.manifest.Limits that the caller set; what is not there is unlimited but for our defaults."""

    argv: tuple[str, ...]
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()
    protect: tuple[str, ...] = ()
    network: bool = False
    cwd: str | None = None
    environment: dict[str, str] = {}
    limits: dict[str, Any] = {}
    backend: str = "landlock"
    uid: int | None = None
    stdin: bytes | None = None


def perform(job: Job, *, passthrough: bool = False) -> Outcome:
    """Run the job. Raises RunnerError when it could not be set up; what the command did is in the Outcome.

    passthrough: the command gets this process's own stdin, stdout and stderr, and nothing is captured; the caller has
    made sure that these three are its own (a closed one would be the next socket of ours).
    """
    _check(job)
    access = plan_access(job)
    variables = build_environment(job, access)
    executable = _resolve(job, access, variables)
    access = access.replace(tools=(*access.tools, *toolchains.companion(executable.canonical, access.home)))
    mechanism = backend.load(job.backend)
    sandbox = mechanism.prepare(access, ahead=0)
    try:
        require_visible(sandbox, executable)
        stage = Stage(
            executable=executable, arguments=job.argv[1:], cwd=access.cwd, environment=tuple(variables.items())
        )
        return _run(job, stage, sandbox, mechanism.name, passthrough)
    finally:
        sandbox.close()


def _run(job: Job, stage: Stage, sandbox: backend.Sandbox, name: str, passthrough: bool) -> Outcome:
    limits = effective_limits(job)
    started = monotonic()
    instance = sandbox.open()
    try:
        pump = Pump(
            instance, limits, *captures(limits), deadline=started + limits.wall_time, sampled=sampled(sandbox),
            relay=passthrough,
        )  # fmt: skip
        ends = pump.attach((stage,), (0, 1, 2)) if passthrough else pump.run((stage,), job.stdin)
    finally:
        instance.close()
    return outcome_of(
        [Ran(stage, *end) for end in ends], pump, sandbox, request_id=new_request_id(), runtime_id=RUNTIME_ID,
        manifest_sha256="", backend=name, wall=monotonic() - started,
    )  # fmt: skip


# -- planning ---------------------------------------------------------------------------------------------------------


def _check(job: Job) -> None:
    if not job.argv or not job.argv[0]:
        raise UsageError("no program given")
    for text in (*job.argv, *job.environment, *job.environment.values()):
        if "\0" in text:
            raise UsageError("a NUL byte in an argument or in the environment")
    unknown = set(job.limits) - set(Limits._fields)
    if unknown:
        raise UsageError(f"`{sorted(unknown)[0]}` is no limit", remedy=f"use one of: {', '.join(Limits._fields)}")
    found = fault(Limits(**job.limits))
    if found:
        raise UsageError(found[1])


def effective_limits(job: Job) -> Limits:
    """The caller's limits over none, with our best-effort defaults for what would harm the host."""
    open_ended: dict[str, Any] = {"wall_time": _FOREVER, "idle_time": None, "total_output": 1 << 62}
    return with_defaults(Limits(**{**open_ended, **job.limits}), total_memory())


def plan_access(job: Job) -> Access:
    read = tuple(_root(path) for path in job.read)
    write = tuple(_root(path) for path in job.write)
    cwd = _cwd(job, (*read, *write))
    if not read and not write:
        read = (cwd,)
    home = home_of(os.environ)
    hide = tuple(os.path.realpath(path) for path in job.hide)
    path = {**os.environ, **job.environment}.get("PATH", environment.DEFAULT_PATH)
    tools = toolchains.discover(path, home)
    return Access(
        cwd=cwd,
        read=read,
        write=write,
        hide=(*hide, *default_hidden(home, (*read, *write), tools)),
        protect=tuple(host.canonicalise_pattern(os.path.abspath(path)) for path in job.protect),
        tools=tools,
        network=job.network,
        home=home,
        # Entering a memory cgroup costs some milliseconds: only for a limit that was asked for. The default is sampled.
        limits=effective_limits(job).replace(memory=job.limits.get("memory")),
        uid=job.uid,
        gid=_group_of(job.uid),
        required=_required(job),
    )


def _required(job: Job) -> frozenset[str]:
    if job.backend == "direct":
        return frozenset()
    return CONFINED | {name for name in job.limits if name in ENFORCEABLE}


def _root(path: str) -> str:
    real = os.path.realpath(path)
    if not os.path.exists(real):
        raise IsolationError(f"`{path}` does not exist", remedy="grant a folder or file that exists")
    return real


def _cwd(job: Job, roots: tuple[str, ...]) -> str:
    """The caller's folder where it is granted, else the first granted folder. Never through a magic link (proc(5))."""
    if job.cwd is not None:
        real = os.path.realpath(job.cwd)
        if not os.path.isdir(real):
            raise UsageError(f"`{job.cwd}` is no folder")
        if roots and not any(inside(real, root) for root in roots):
            raise IsolationError(f"the working folder `{job.cwd}` is outside the roots", remedy="grant it, or name another")
        return real
    try:
        here = os.path.realpath(os.getcwd())
    except FileNotFoundError as error:
        raise UsageError("the current folder no longer exists", remedy="change to one that does, or give `--cwd`") from error
    if not roots or any(inside(here, root) for root in roots):
        return here
    first = roots[0]
    return first if os.path.isdir(first) else os.path.dirname(first)


def _group_of(uid: int | None) -> int | None:
    if uid is None:
        return None
    import pwd

    try:
        return pwd.getpwuid(uid).pw_gid
    except KeyError:
        return uid


def build_environment(job: Job, access: Access) -> dict[str, str]:
    """The allow-list of the caller's variables, then the job's own."""
    values = environment.safe(os.environ)
    values["HOME"] = access.home
    values["PATH"] = environment.clean_path(values.get("PATH", ""))
    values.pop("TMPDIR", None)  # the caller's own, outside every root
    values["TERM"] = os.environ.get("TERM", "dumb")
    return {**values, **job.environment}


def _resolve(job: Job, access: Access, variables: Mapping[str, str]) -> Executable:
    return host.resolve(
        job.argv[0],
        aliases=(),
        search_path=tuple(variables.get("PATH", environment.DEFAULT_PATH).split(":")),
        cwd=access.cwd,
        trusted_roots=toolchains.SYSTEM,
        write_roots=access.write,
    )


def to_result(outcome: Outcome) -> Result:
    """The pydantic form, plain mode: no secrets to redact, nothing declared about rendering."""
    from .result import Result

    return Result.of(outcome, limits=Limits(stdout=1 << 40, stderr=1 << 40, total_output=1 << 62))


def run(
    argv: list[str] | tuple[str, ...],
    *,
    read: list[str] | tuple[str, ...] = (),
    write: list[str] | tuple[str, ...] = (),
    hide: list[str] | tuple[str, ...] = (),
    protect: list[str] | tuple[str, ...] = (),
    network: bool = False,
    limits: Mapping[str, Any] | None = None,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
    backend: str = "landlock",
    uid: int | None = None,
) -> Result:
    """Run one command confined and return its Result.

    Paths are granted as given (links resolved). limits: names of `model.manifest.Limits`, seconds and bytes; the spec's
    defaults hold for output (1,000,000 bytes a channel, 1,500,000 in all) and time (180 s). env is added to an
    allow-list of the caller's variables. Never raises for what the command did, nor for what refuses it before it
    starts: that is `result.error`.
    """
    from .result import Result, error_result

    chosen = {"wall_time": 180.0, "total_output": Limits.total_output, **(limits or {})}
    job = Job(
        argv=tuple(argv), read=tuple(map(os.fspath, read)), write=tuple(map(os.fspath, write)),
        hide=tuple(map(os.fspath, hide)), protect=tuple(map(os.fspath, protect)), network=network, limits=chosen,
        cwd=None if cwd is None else os.fspath(cwd), environment=dict(env or {}), stdin=stdin, backend=backend, uid=uid,
    )  # fmt: skip
    try:
        outcome = perform(job)
    except (Refusal, IsolationError, UsageError) as error:
        return error_result(new_request_id(), RUNTIME_ID, "", error.code, error.message)
    return Result.of(outcome, limits=effective_limits(job))

