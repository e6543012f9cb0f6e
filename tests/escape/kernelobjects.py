"""SysV and POSIX objects and a kernel key that belong to the host: made, looked at and removed through libc.

Each function returns -1 or raises OSError as libc does. Sources: shmget(2), msgget(2), mq_overview(7), keyctl(2).
"""

from __future__ import annotations

import ctypes
import os
import platform

_libc = ctypes.CDLL(None, use_errno=True)
_libc.shmat.restype = ctypes.c_void_p
_libc.shmdt.argtypes = [ctypes.c_void_p]
_CREATE = 0o1000
_REMOVE = 0
_STAT = 2
_KEY_CALLS = {"x86_64": (248, 249, 250), "aarch64": (217, 218, 219)}[platform.machine()]  # add, request, keyctl
_USER_KEYRING = -4


def _check(result: int, what: str) -> int:
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
    return result


def make_segment(text: bytes) -> int:
    """A shared segment anybody may attach, holding text; its id."""
    segment = _check(_libc.shmget(0, 4096, _CREATE | 0o666), "shmget")
    address = _libc.shmat(segment, None, 0)
    ctypes.memmove(address, text + b"\0", len(text) + 1)
    _libc.shmdt(address)
    return segment


def read_segment(segment: int) -> bytes:
    """Its text, or empty when the segment is gone or marked for removal."""
    details = ctypes.create_string_buffer(256)
    if _libc.shmctl(segment, _STAT, details) == -1:
        return b""
    address = _libc.shmat(segment, None, 0)
    text = ctypes.string_at(address)
    _libc.shmdt(address)
    return text


def remove_segment(segment: int) -> None:
    _libc.shmctl(segment, _REMOVE, None)


def make_messages(text: bytes) -> int:
    """A message queue anybody may use with one message of type 1; its id."""
    queue = _check(_libc.msgget(0, _CREATE | 0o666), "msgget")
    message = bytes(ctypes.c_long(1)) + text + b"\0"
    _check(_libc.msgsnd(queue, message, len(text) + 1, 0), "msgsnd")
    return queue


def remove_messages(queue: int) -> None:
    _libc.msgctl(queue, _REMOVE, None)


def make_posix_queue(name: str, text: bytes) -> None:
    flags = os.O_CREAT | os.O_RDWR
    queue = _check(_libc.mq_open(name.encode(), flags, 0o666, None), "mq_open")
    _check(_libc.mq_send(queue, text + b"\0", len(text) + 1, 0), "mq_send")
    os.close(queue)


def remove_posix_queue(name: str) -> None:
    _libc.mq_unlink(name.encode())


def make_key(name: str, text: bytes) -> int:
    """A key in the user's own keyring; its serial."""
    return _check(_libc.syscall(_KEY_CALLS[0], b"user", name.encode(), text, len(text), _USER_KEYRING), "add_key")


def find_key(name: str) -> int:
    """The serial of that key, or -1."""
    return int(_libc.syscall(_KEY_CALLS[1], b"user", name.encode(), None, 0))


def remove_key(serial: int) -> None:
    _libc.syscall(_KEY_CALLS[2], 9, serial, _USER_KEYRING)  # KEYCTL_UNLINK
