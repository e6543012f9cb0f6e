"""The table: every attempt of every group, in one tuple."""

from __future__ import annotations

from tests.escape.row import Attack
from tests.escape.rows_files import FILES
from tests.escape.rows_kernel import KERNEL, PRIVILEGES
from tests.escape.rows_mounts import MOUNTS
from tests.escape.rows_processes import BOMBS, PROCESSES, SOCKETS

ATTACKS: tuple[Attack, ...] = (*FILES, *MOUNTS, *PROCESSES, *SOCKETS, *KERNEL, *PRIVILEGES, *BOMBS)
