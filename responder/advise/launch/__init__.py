"""Where the launch command of a server comes from, in order of trust; each source is one file."""

from responder.advise.launch.containers import Container, Named, named_by, read_container
from responder.advise.launch.found import TRUST, Launch, find_launch
from responder.advise.launch.journald import journald_launch
from responder.advise.launch.log import log_launch, printed_pids
from responder.advise.launch.process_watch import Process, ProcessWatch
from responder.advise.launch.processes import Place, process_launch
from responder.advise.launch.typed import config_launch
from responder.advise.launch.unit import Unit, read_unit

__all__ = [
    "TRUST",
    "Container",
    "Launch",
    "Named",
    "Place",
    "Process",
    "ProcessWatch",
    "Unit",
    "config_launch",
    "find_launch",
    "journald_launch",
    "log_launch",
    "named_by",
    "printed_pids",
    "process_launch",
    "read_container",
    "read_unit",
]
