"""Registry: one authorised manifest, live. Compile, authorise, instantiate; then tools() and call().

Contract of call(): it never raises for input, denial, limit or exit (that is the Result); RunnerError is only for what the
host or we did wrong after loading. Thread-safe: calls run beside each other, each in its own instance.
"""

from __future__ import annotations

import os

from .calling import Call
from .errors import IsolationError, ManifestError, Refusal, RequestError
from .features import require_supported
from .identifier import new_request_id
from .output.live import Stream, unsupported
from .output.redact import Redactor
from .request.payload import parse_payload
from .request.schema import description, input_schema
from .result import Result, error_result
from .runtime import Runtime

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Self

    from .model.manifest import Manifest, ToolSpec


class Registry:
    """Use load(). Ends every sandbox when closed (or as a context manager)."""

    def __init__(self, manifest: Manifest, bases: Mapping[str, str], environ: Mapping[str, str]) -> None:
        self.manifest = manifest
        self.runtimes: dict[str, Runtime] = {}
        self._tools = {tool.name: tool for tool in manifest.tools}
        try:
            for name in dict.fromkeys(tool.runtime for tool in manifest.tools):
                self.runtimes[name] = Runtime(manifest, manifest.runtime(name), bases, environ)
            for tool in manifest.tools:
                if tool.stream == "sanitized":
                    runtime = self.runtimes[tool.runtime]
                    require_streamable(tool, runtime, runtime.secrets, runtime.redactor)
        except BaseException:
            self.close()
            raise

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        authorize: str | Callable[[Manifest], bool],
        workspace: str | os.PathLike[str] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Self:
        """Compile the declaration, have its digest authorised, make its runtimes live.

        authorize: the manifest's SHA-256, or a function that is shown the manifest and says yes. workspace: what
        `${workspace}` means (default: the current folder). Raises DeclarationError, ManifestError
        `shell.manifest_rejected`, IsolationError.
        """
        from .compiler import compile_file
        from .compiler.variables import bases_of

        file = os.fspath(path)
        manifest = compile_file(file, workspace=None if workspace is None else os.fspath(workspace))
        require_supported(manifest)
        authorise(manifest, authorize)
        return cls(manifest, bases_of(file, workspace), os.environ if environ is None else environ)

    def tools(self) -> list[dict[str, Any]]:
        """The published tools in declaration order of their names: name, description, input schema."""
        return [
            {"name": tool.name, "description": description(tool), "input_schema": input_schema(tool)}
            for tool in self.manifest.tools
        ]

    def call(
        self, tool: str, payload: object, *, interrupt: int | None = None, on_output: Callable[[str], None] | None = None
    ) -> Result:
        """One tool call. payload: a mapping, or its JSON text. interrupt: a descriptor whose readability cancels: what runs
        is dead and reaped when the call returns. on_output gets the safe output of a `stream="sanitized"` tool as it is
        written, and nothing of others; what it raises (Exception) is ignored."""
        spec = self._tools.get(tool)
        request_id = new_request_id()
        if spec is None:
            names = ", ".join(self._tools) or "none"
            message = f"no tool is named `{tool}`; there are: {names}"
            return error_result(request_id, "", self.manifest.sha256, "shell.tool_missing", message)
        return self._call(spec, self.runtimes[spec.runtime], payload, request_id, interrupt, on_output)

    def _call(
        self, spec: ToolSpec, runtime: Runtime, payload: object, request_id: str, interrupt: int | None,
        on_output: Callable[[str], None] | None,
    ) -> Result:  # fmt: skip
        redactor, secrets = runtime.redactor, runtime.secrets
        try:
            parsed = parse_payload(
                spec, payload, max_stdin=runtime.limits.max_stdin, request_id=request_id,
                environment=runtime.environment, resolve_path=runtime.live.place,
            )  # fmt: skip
            if parsed.secrets:
                secrets = (*secrets, *parsed.secrets)
                redactor = Redactor(secrets, runtime.spec.secrets.replacement)
            stream = None
            if spec.stream == "sanitized":
                require_streamable(spec, runtime, secrets, redactor)
                stream = Stream(runtime.limits, redactor, _quiet(on_output)) if on_output is not None else None
            outcome = runtime.run(parsed.request, interrupt=interrupt, stream=stream)
        except (RequestError, Refusal, IsolationError) as error:
            message = redactor(error.told) if redactor else error.told
            return error_result(request_id, spec.runtime, self.manifest.sha256, error.code, message)
        return Result.of(
            outcome, limits=runtime.limits, redactor=redactor, mode=spec.result, nonzero=spec.nonzero  # type: ignore[arg-type]
        )

    def acall(self, tool: str, payload: object) -> Call:
        """call() beside the event loop: `await` it for the Result, or `async for` its output as it comes (then `.result`).
        Cancelling the task ends the command; it is dead and reaped when this returns."""
        return Call(lambda interrupt, emit: self.call(tool, payload, interrupt=interrupt, on_output=emit))

    def close(self) -> None:
        for runtime in self.runtimes.values():
            runtime.close()
        self.runtimes = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def require_streamable(tool: ToolSpec, runtime: Runtime, secrets: tuple[str, ...], redactor: Redactor | None) -> None:
    """Raise RequestError `shell.tool_stream_unsupported` where live output could show what the finished one would not."""
    why = unsupported(secrets, redactor, runtime.limits)
    if not why and any(item.phase == "after" for item in runtime.spec.interceptors):
        why = "its runtime has an after-interceptor"
    if why:
        raise RequestError(
            f"the tool `{tool.name}` cannot stream: {why}", code="shell.tool_stream_unsupported", remedy='declare stream="finalized"'
        )


def _quiet(on_output: Callable[[str], None]) -> Callable[[str], None]:
    """An observer's own failure is not the command's."""

    def emit(text: str) -> None:
        try:
            on_output(text)
        except Exception:  # whatever it is, it is the observer's
            pass

    return emit


def authorise(manifest: Manifest, answer: str | Callable[[Manifest], bool]) -> None:
    """Raise ManifestError unless this exact manifest is authorised. A digest is compared whole, lower-case."""
    if isinstance(answer, str):
        if answer.lower() == manifest.sha256:
            return
        message = f"the manifest's digest is `{manifest.sha256}`, not the authorised `{answer}`"
    elif answer(manifest) is True:
        return
    else:
        message = f"the manifest `{manifest.sha256}` was not authorised"
    raise ManifestError(
        message, code="shell.manifest_rejected", remedy="read it (`fumehood inspect FILE`), then authorise its digest"
    )
