"""Writes what the tests compare with: `SGLANG_ORACLE_PYTHON=… python -m tests.advise.effective.record [SM…]`."""

import json
import lzma
import sys
from pathlib import Path

from tests.advise.effective.trials import trials
from tests.advise.oracles import pythons, release_of, resolve

RECORDS = Path(__file__).with_name("records")

if __name__ == "__main__":
    for python in pythons():
        for sm in map(int, sys.argv[1:] or ("90", "100", "120")):
            answers = resolve(python, sm, "13.0", trials())
            text = "".join(json.dumps(answer) + "\n" for answer in answers)
            (RECORDS / f"{release_of(python)}-sm{sm}.jsonl.xz").write_bytes(lzma.compress(text.encode()))
            print(f"{release_of(python)} SM{sm}: {sum('resolved' in a for a in answers)} of {len(answers)} accepted")
