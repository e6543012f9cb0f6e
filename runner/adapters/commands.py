"""call, tools, inspect, doctor: the subcommands that need the compiler, and what they print."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from ..compiler import compile_file
from ..errors import ManifestError, UsageError

if TYPE_CHECKING:
    from ..model.manifest import Manifest


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message, remedy=f"see `{self.prog} --help`")


def _parser(name: str, *arguments: tuple[str, dict[str, Any]]) -> _Parser:
    parser = _Parser(prog=f"fumehood {name}", allow_abbrev=False)
    for word, options in arguments:
        parser.add_argument(word, **options)
    return parser


_JSON = ("--json", {"action": "store_true", "help": "print JSON for programs"})
_FILE = ("file", {"help": "the declaration"})


def call(argv: list[str]) -> int:
    """0 for a result, 1 for an error result (refusal, limit, nonzero="error"), 65 where the declaration is not authorised or wrong."""
    from ..registry import Registry

    options = _parser(
        "call", _FILE, ("tool", {"help": "name of a published tool"}), _JSON,
        ("--input", {"default": "{}", "help": "the payload as JSON, `-` reads it from standard input"}),
        ("--authorize", {"metavar": "DIGEST|any", "help": "the manifest's SHA-256, or `any`"}),
        ("--workspace", {"help": "what ${workspace} means (default: the current folder)"}),
    ).parse_args(argv)  # fmt: skip
    payload = _payload(options.input)
    with Registry.load(
        options.file, authorize=_authoriser(options.authorize), workspace=options.workspace
    ) as registry:
        streams = any(tool.name == options.tool and tool.stream == "sanitized" for tool in registry.manifest.tools)
        show = (_progress_lines if options.json else _progress) if streams else None
        result = registry.call(options.tool, payload, on_output=show)
    indent = None if options.json and streams else 2
    text = json.dumps(result.to_json(), ensure_ascii=False, indent=indent) if options.json else result.render()
    print(text, end="" if text.endswith("\n") else "\n")
    return 0 if result.failure() is None else 1


def _progress(text: str) -> None:
    """Beside the result, which alone goes to standard output."""
    sys.stderr.write(text)
    sys.stderr.flush()


def _progress_lines(text: str) -> None:
    """JSON lines: the output's pieces, and the result as the last."""
    print(json.dumps({"output": text}, ensure_ascii=False), flush=True)


def _payload(text: str) -> str:
    """The input's text; standard input is read with a bound."""
    if text != "-":
        return text
    limit = 64 << 20
    data = sys.stdin.buffer.read(limit + 1)
    if len(data) > limit:
        raise UsageError(f"the input has more than {limit} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UsageError("the input is not UTF-8") from error


def _authoriser(answer: str | None) -> Any:
    """A digest as given; `any` for every manifest; else a person at the terminal is asked, a program refused."""
    if answer == "any":
        return lambda manifest: True
    return answer if answer is not None else _ask


def _ask(manifest: Manifest) -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise ManifestError(
            f"the manifest `{manifest.sha256}` is not authorised", code="shell.manifest_rejected",
            remedy="give `--authorize DIGEST` (or `any`)",
        )  # fmt: skip
    print(summary(manifest), file=sys.stderr)
    print("Authorise this manifest? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def tools(argv: list[str]) -> int:
    """Compile and list the published tools; nothing is made live."""
    from ..request.schema import description, input_schema

    options = _parser("tools", _FILE, _JSON).parse_args(argv)
    found = [
        {"name": tool.name, "description": description(tool), "input_schema": input_schema(tool)}
        for tool in compile_file(options.file).tools
    ]
    if options.json:
        print(json.dumps(found, ensure_ascii=False, indent=2))
        return 0
    for tool in found:
        print(f"{tool['name']}\n  {tool['description']}\n  {json.dumps(tool['input_schema'])}\n")
    return 0


def inspect(argv: list[str]) -> int:
    """Compile and show; executes nothing, grants nothing."""
    options = _parser(
        "inspect", _FILE, _JSON, ("--canonical", {"action": "store_true", "help": "print the canonical bytes"})
    ).parse_args(argv)
    manifest = compile_file(options.file)
    if options.canonical:
        sys.stdout.buffer.write(manifest.canonical + b"\n")
        return 0
    if options.json:
        body = {"manifest_sha256": manifest.sha256, "manifest": json.loads(manifest.canonical)}
        print(json.dumps(body, ensure_ascii=False, indent=2))
        return 0
    print(summary(manifest))
    return 0


def summary(manifest: Manifest) -> str:
    """What a person needs to know before saying yes."""
    lines = [f"manifest  {manifest.sha256}"]
    for spec in manifest.runtimes:
        powers = spec.capabilities
        granted = [name for name in ("network", "child_processes", "arbitrary_code", "privilege_change") if getattr(powers, name)]
        lines += [
            f"runtime   {spec.id}" + (f" (extends {spec.resolved_profile})" if spec.resolved_profile else ""),
            f"  sandbox   {powers.sandbox}, backends: {', '.join(item.kind for item in spec.backends.values)}",
            f"  reads     {_roots(powers.read)}",
            f"  writes    {_roots(powers.write)}",
            f"  may       {', '.join(granted) or 'none of network, child processes, arbitrary code, privilege change'}",
            f"  policy    {len(spec.policy.rules)} rules, otherwise {spec.policy.default}",
        ]
        if powers.network:
            lines.append("  note      the host's network is shared: its loopback services are reachable")
        if powers.sandbox == "direct_unsafe":
            lines.append("  CRITICAL  commands of this runtime run without any confinement")
    lines += [f"tool      {tool.name} ({tool.mode}, runs in {tool.runtime})" for tool in manifest.tools]
    return "\n".join(lines)


def _roots(roots: Any) -> str:
    return ", ".join(root.path or f"${root.path_env}" for root in roots) or "nothing"


def doctor(argv: list[str]) -> int:
    """0 when every constraint of the default backend holds fully, 1 when one does not; `--json` lists all backends."""
    from ..doctor import examine

    options = _parser("doctor", _JSON).parse_args(argv)
    report = examine()
    if options.json:
        print(json.dumps(report, indent=2))
    else:
        _show(report)
    return 0 if report["sandbox"] is not None and all(row["level"] == "fully" for row in report["enforcement"]) else 1


def _show(report: dict[str, Any]) -> None:
    print(f"kernel {report['kernel']}, Landlock ABI {report['landlock_abi']}, {report['user']}")
    if report["sandbox"] is None:
        print(f"no sandbox: {report['why']}")
        return
    for row in report["enforcement"]:
        why = f": {row['why']}" if row["why"] else ""
        print(f"  {row['constraint']:<17} {row['level']:<6} {row['by']}{why}")
    for row in report["witnessed"]:
        print(f"  witnessed: {row['attempt']:<42} {row['outcome']}")


