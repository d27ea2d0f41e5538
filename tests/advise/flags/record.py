"""Writes the records that the quick suite compares the flag table with: `python -m tests.advise.flags.record`."""

import json
import lzma
from pathlib import Path

from responder.advise.flags import FlagTable
from tests.advise.flags.trials import trials
from tests.advise.oracles import ask, pythons, release_of

RECORDS = Path(__file__).with_name("records")

if __name__ == "__main__":
    RECORDS.mkdir(exist_ok=True)
    for python in pythons():
        release = release_of(python)
        answers = ask(python, trials(FlagTable.load().release(release)))
        text = "".join(json.dumps(answer) + "\n" for answer in answers)
        (RECORDS / f"{release}.jsonl.xz").write_bytes(lzma.compress(text.encode()))
        print(f"{release}: {len(answers) - 1} trials")
