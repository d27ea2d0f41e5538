"""Rules against blocks of bytes.

Hyperscan finds the lines, `regex` confirms and captures; a traceback is assembled only around a hit.
"""

from responder.scan.engine import LineHit, Match, Scanner
from responder.scan.program import Program, build_program

__all__ = ["LineHit", "Match", "Program", "Scanner", "build_program"]
