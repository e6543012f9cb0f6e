"""Declaration text -> Manifest, pure but for reading the declared file. reader, schema, merge, lower, tools, canonical."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.manifest import Manifest


def compile_file(path: str, *, workspace: str | None = None) -> Manifest:
    """Compile one declaration file. workspace: what `${workspace}` means to script files (default: the current folder).

    Raises DeclarationError with every problem of the document.
    """
    import os

    from .lower import compile_document
    from .reader import read_bytes
    from .variables import bases_of

    folder = os.path.dirname(os.path.realpath(path))
    return compile_document(read_bytes(path), file=path, source_dir=folder, bases=bases_of(path, workspace))


def compile_text(text: str | bytes, *, file: str = "<text>", source_dir: str = ".") -> Manifest:
    """The same for text that is already here; `file` names it in diagnostics."""
    from .lower import compile_document

    data = text.encode() if isinstance(text, str) else text
    return compile_document(data, file=file, source_dir=source_dir)
