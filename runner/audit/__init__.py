"""Evidence: one line per event, chained, appended once, readable by anybody who may read the file.

Theory of operation. A Journal belongs to one live runtime and owns a level, a failure policy and its sinks. For each
request it opens an Entry; the walk names events on it; whatever way the request ends, its Entry writes exactly one
terminal event (finished, terminated, rejected or failed), so a request without one was interrupted and nothing else.
A sink has its own sequence and its own chain, because two files that share a counter contradict each other at the first
restart. Lines carry no output of a command, only counts of bytes.
"""

from .event import CHANNEL_FIELDS as CHANNEL_FIELDS
from .event import EVENTS as EVENTS
from .event import SCHEMA as SCHEMA
from .event import TERMINAL as TERMINAL
