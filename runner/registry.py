"""Registry: one authorised manifest, live. Compile, authorise, instantiate; then tools() and call().

Contract of call(): it never raises for input, denial, limit or exit (that is the Result); RunnerError is only for what the
host or we did wrong after loading. Thread-safe: calls run beside each other, each in its own instance.
"""

from __future__ import annotations

import os

from .errors import IsolationError, ManifestError, Refusal, RequestError
from .features import require_supported
from .identifier import new_request_id
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

    def call(self, tool: str, payload: object, *, interrupt: int | None = None) -> Result:
        """One tool call. payload: a mapping, or its JSON text. interrupt: a descriptor whose readability cancels."""
        spec = self._tools.get(tool)
        request_id = new_request_id()
        if spec is None:
            names = ", ".join(self._tools) or "none"
            message = f"no tool is named `{tool}`; there are: {names}"
            return error_result(request_id, "", self.manifest.sha256, "shell.tool_missing", message)
        return self._call(spec, self.runtimes[spec.runtime], payload, request_id, interrupt)

    def _call(
        self, spec: ToolSpec, runtime: Runtime, payload: object, request_id: str, interrupt: int | None
    ) -> Result:
        redactor = runtime.redactor
        try:
            parsed = parse_payload(
                spec, payload, max_stdin=runtime.limits.max_stdin, request_id=request_id,
                environment=runtime.environment, resolve_path=runtime.resolve_path,
            )  # fmt: skip
            if parsed.secrets:
                redactor = Redactor((*runtime.secrets, *parsed.secrets), runtime.spec.secrets.replacement)
            outcome = runtime.run(parsed.request, interrupt=interrupt)
        except (RequestError, Refusal, IsolationError) as error:
            message = redactor(error.told) if redactor else error.told
            return error_result(request_id, spec.runtime, self.manifest.sha256, error.code, message)
        return Result.of(
            outcome, limits=runtime.limits, redactor=redactor, mode=spec.result, nonzero=spec.nonzero  # type: ignore[arg-type]
        )

    async def acall(self, tool: str, payload: object) -> Result:
        """call() beside the event loop. Cancelling the task ends the command; it is dead and reaped when this returns."""
        import asyncio

        wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        work = asyncio.get_running_loop().run_in_executor(None, lambda: self.call(tool, payload, interrupt=wake))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            os.eventfd_write(wake, 1)
            await asyncio.wait([work])
            raise
        finally:
            os.close(wake)

    def close(self) -> None:
        for runtime in self.runtimes.values():
            runtime.close()
        self.runtimes = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


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
