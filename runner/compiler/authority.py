"""Inheritance of what decides: policy, approvals, reviewers, interceptors, analyzers, secrets, audit.

One function per section, as in merge.py: the laying (which collects problems), the parent's spec, the child's section.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..model import extensions as x
from ..model import manifest as m
from . import elements as s

if TYPE_CHECKING:
    from .merge import Laying

_HOOK = ("sha256", "timeout", "max_input", "max_output")


def policy(laying: Laying, spec: m.RuntimeSpec, element: s.Policy) -> m.RuntimeSpec:
    rules = [(item, _rule(laying, item)) for item in element.all(s.Rule)]
    changed: dict[str, Any] = {"rules": laying.by_id(spec.policy.rules, rules, element.merge)}
    if element.default is not None:
        changed["default"] = element.default
    return spec.replace(policy=spec.policy.replace(**changed))


def _rule(laying: Laying, item: s.Rule) -> m.Rule:
    found = [child for child in item.children if not isinstance(child, s.Example)]
    if len(found) != 1:
        laying.problem(item, "rule_matcher_arity", f"the rule `{item.id}` needs exactly one matcher")
    matchers = [_matcher(laying, child) for child in found]
    examples = tuple(m.Example(argv=child.argv, action=child.action) for child in item.all(s.Example))
    return m.Rule(
        id=item.id, action=item.action, matcher=matchers[0] if matchers else x.Matcher(kind="any"), examples=examples
    )


def _matcher(laying: Laying, item: s.Element) -> x.Matcher:
    kind = {"chatml_match": "script_match"}.get(item.node.tag, item.node.tag)
    if kind in ("all", "any") and not item.children:
        laying.problem(item, "empty_matcher", f"`<{kind}>` needs at least one matcher")
    if kind == "not" and len(item.children) != 1:
        laying.problem(item, "matcher_arity", "`<not>` needs exactly one matcher")
    children = tuple(_matcher(laying, child) for child in item.children)
    value = getattr(item, "value", getattr(item, "name", None))
    under = getattr(item, "under", None)
    if under is not None and value not in ("read", "write"):
        laying.problem(item, "invalid_attribute", "`under` is for the effects read and write")
    return x.Matcher(
        kind=kind, value=value, values=getattr(item, "values", ()), under=under, script=getattr(item, "script", None),
        function=getattr(item, "function", None), failure=getattr(item, "failure", None), children=children,
    )  # fmt: skip


def approvals(laying: Laying, spec: m.RuntimeSpec, element: s.Approvals) -> m.RuntimeSpec:
    given = {name: getattr(element, name) for name in ("provider", "unavailable", "scopes", "durable")}
    changed = {name: value for name, value in given.items() if value is not None}
    return spec.replace(approvals=spec.approvals.replace(**changed))


def reviewers(laying: Laying, spec: m.RuntimeSpec, element: s.Reviewers) -> m.RuntimeSpec:
    found = [(item, _reviewer(laying, item)) for item in element.all(s.Reviewer)]
    return spec.replace(reviewers=_by_id(laying, spec.reviewers, found, element.merge))


def _reviewer(laying: Laying, item: s.Reviewer) -> x.Reviewer:
    kind = "script" if item.kind == "chatml" else item.kind
    needed = {"script": "script", "model": "agent"}.get(kind)
    if needed is not None and getattr(item, needed) is None:
        laying.problem(item, "missing_attribute", f"a {item.kind} reviewer needs `{needed}`")
    for name, owner in (("script", "script"), ("lifecycle", "script"), ("agent", "model"), ("model", "model")):
        if getattr(item, name) is not None and kind != owner:
            laying.problem(item, "invalid_extension", f"`{name}` is not for a {item.kind} reviewer")
    return x.Reviewer(
        id=item.id, kind=kind, script=item.script, lifecycle=item.lifecycle or "session", agent=item.agent,
        model=item.model, hook=_hook(laying, item, wanted=kind == "executable"), failure=item.failure or "deny",
    )  # fmt: skip


def interceptors(laying: Laying, spec: m.RuntimeSpec, element: s.Interceptors) -> m.RuntimeSpec:
    found = [(item, _interceptor(laying, item)) for item in element.all(s.Interceptor)]
    return spec.replace(interceptors=_by_id(laying, spec.interceptors, found, element.merge))


def _interceptor(laying: Laying, item: s.Interceptor) -> x.Interceptor:
    match = item.one(s.Match)
    if match is not None and item.phase == "after":
        laying.problem(item, "after_interceptor_match", "an interceptor of results sees every result; it takes no `<match>`")
    if match is not None and len(match.children) != 1:
        laying.problem(match, "matcher_arity", "`<match>` needs exactly one matcher")
    matchers = [_matcher(laying, child) for child in match.children] if match is not None else []
    return x.Interceptor(
        id=item.id, phase=item.phase, script=item.script, hook=_one_of_two(laying, item),
        lifecycle=item.lifecycle or "session", failure=item.failure or "deny", matcher=matchers[0] if matchers else None,
    )  # fmt: skip


def analysis(laying: Laying, spec: m.RuntimeSpec, element: s.EffectAnalysis) -> m.RuntimeSpec:
    found = [(item, _analyzer(laying, item)) for item in element.all(s.Analyzer)]
    return spec.replace(effect_analysis=_by_id(laying, spec.effect_analysis, found, element.merge))


def _analyzer(laying: Laying, item: s.Analyzer) -> x.Analyzer:
    if (item.kind == "executable") != (item.executable is not None):
        laying.problem(item, "invalid_extension", "an analyzer of kind `executable`, and no other, needs `executable`")
    return x.Analyzer(
        id=item.id, script=item.script, hook=_one_of_two(laying, item), lifecycle=item.lifecycle or "invocation",
        replaces=item.replace, failure=item.failure or "unknown",
    )  # fmt: skip


def _by_id(laying: Laying, old: tuple[Any, ...], new: list[tuple[Any, Any]], merge: str) -> tuple[Any, ...]:
    """Appended or replaced as a whole; there is no override here, so an id twice is always an error."""
    entries = {} if merge == "replace" else {item.id: item for item in old}
    for element, item in new:
        if item.id in entries:
            laying.problem(element, "duplicate_named_entry", f"the id `{item.id}` is given twice")
        entries[item.id] = item
    return tuple(entries.values())


def _one_of_two(laying: Laying, item: Any) -> x.Hook | None:
    if (item.script is None) == (item.executable is None):
        laying.problem(item, "invalid_extension", f"`<{item.node.tag}>` needs exactly one of `script` and `executable`")
    return _hook(laying, item, wanted=item.executable is not None)


def _hook(laying: Laying, item: Any, *, wanted: bool) -> x.Hook | None:
    if not wanted:
        for name in ("executable", "runtime", *_HOOK):
            if getattr(item, name) is not None and not (name == "executable" and item.script is not None):
                laying.problem(item, "invalid_extension", f"`{name}` is for an executable `<{item.node.tag}>`")
        return None
    for name in ("executable", "runtime"):
        if getattr(item, name) is None:
            laying.problem(item, "missing_attribute", f"an executable `<{item.node.tag}>` needs `{name}`")
    given = {name: getattr(item, name) for name in _HOOK if getattr(item, name) is not None}
    return x.Hook(executable=item.executable or "", runtime=item.runtime or "", protocol=item.protocol, **given)


def secrets(laying: Laying, spec: m.RuntimeSpec, element: s.Secrets) -> m.RuntimeSpec:
    old = spec.secrets
    sources = tuple(_secret(item) for item in element.children)
    kept = () if element.merge == "replace" else old.sources
    changed: dict[str, Any] = {"sources": (*kept, *sources)}
    if element.replacement is not None:
        changed["replacement"] = element.replacement
    return spec.replace(secrets=old.replace(**changed))


def _secret(item: Any) -> m.SecretSource:
    if isinstance(item, s.Literal_):
        return m.SecretSource(kind="literal", value=item.value)
    if isinstance(item, s.FromFile):
        return m.SecretSource(kind="from_file", name=item.path, optional=item.optional, strip=item.strip)
    return m.SecretSource(kind="from_env", name=item.name, optional=item.optional)


def audit(laying: Laying, spec: m.RuntimeSpec, element: s.Audit) -> m.RuntimeSpec:
    if element.format == "jsonl" and element.path is None:
        laying.problem(element, "audit_path_required", "an audit of format `jsonl` needs `path`")
    if element.format != "jsonl" and element.path is not None:
        laying.problem(element, "invalid_attribute", f"`path` is not for an audit of format `{element.format}`")
    item = element.one(s.Filter)
    found = None
    if item is not None:
        found = x.AuditFilter(script=item.script, hook=_one_of_two(laying, item), lifecycle=item.lifecycle or "session")
    return spec.replace(
        audit=x.Audit(format=element.format, path=element.path, content=element.content, failure=element.failure, filter=found)
    )
