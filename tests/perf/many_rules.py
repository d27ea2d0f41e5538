"""What a rule more costs: catalogues of some size, made of the shipped patterns and copies of them.

Run as a process of its own: `python -m tests.perf.many_rules 500 LOG` prints compile seconds, database bytes and scan
seconds as JSON.
"""

import json
import sys
import time
from pathlib import Path

from responder.catalogue import Catalogue, Rule, load_catalogue
from responder.catalogue.rule import LoadedRule
from responder.replay.ranges import segment_of
from responder.replay.reading import blocks_of
from responder.scan import Scanner, build_program
from responder.scan.framing import StreamScan


def catalogue_of(count: int) -> Catalogue:
    """So many cause rules; from the end of the shipped ones on, copies whose words are turned round."""
    shipped = [entry.rule for entry in load_catalogue().loaded if entry.rule.role == "cause" and entry.rule.patterns]
    rules = shipped[:count]
    for number in range(count - len(rules)):
        source = shipped[number % len(shipped)]
        texts = tuple(_copy(text, number // len(shipped) + 1) for sample in source.sample for text in [sample.text])
        rules.append(Rule(id=f"copy-{number}", title="x", kind="hang", role="cause", patterns=texts[:2]))
    return Catalogue(loaded=tuple(LoadedRule(rule=rule, path=Path()) for rule in rules))


def _copy(text: str, turn: int) -> str:
    import re

    line = max(text.splitlines(), key=len)[:60]
    return re.escape("".join(chr((ord(c) - 97 + turn) % 26 + 97) if c.islower() and c.isascii() else c for c in line))


def main() -> None:
    """Measure one size."""
    catalogue, log = catalogue_of(int(sys.argv[1])), Path(sys.argv[2])
    began = time.process_time()
    program, problems = build_program(catalogue, cache=Path("/nonexistent"))
    compiled = time.process_time() - began
    assert not problems, problems[:3]
    stream = StreamScan(Scanner(program))
    began = time.process_time()
    for block in blocks_of(segment_of(log)):
        stream.feed(block)
    scanned = time.process_time() - began
    patterns = len(program.patterns)
    print(json.dumps({"patterns": patterns, "compile": compiled, "bytes": program.database.size(), "scan": scanned}))


if __name__ == "__main__":
    main()
