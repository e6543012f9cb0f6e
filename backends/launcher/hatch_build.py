"""Build hook: the launcher is compiled in place, and the wheel is tagged for the machine it was compiled for."""

from __future__ import annotations

import importlib.util
import os
import sys
import sysconfig
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class LauncherHook(BuildHookInterface):  # type: ignore[misc]
    """Runs for wheels and editable installs; a source distribution carries the source alone."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or not sys.platform.startswith("linux"):
            return
        folder = os.path.join(self.root, "backends", "launcher")
        spec = importlib.util.spec_from_file_location("fumehood_build", os.path.join(folder, "build.py"))
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.build(os.path.join(folder, "launcher"))
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
