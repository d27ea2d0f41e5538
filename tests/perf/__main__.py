"""`python -m tests.perf`: generate logs, run responder and its peers on them in turn, print medians and ratios.

Figures are told, never asserted: they depend on the machine and on who else uses it.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from responder.catalogue import load_catalogue
from tests.perf import live
from tests.perf.logs import samples_of, write_docker, write_log
from tests.perf.peers import RESPONDER, Cost, fail2ban_filter, interleaved, own_patterns, run

MIB = 1 << 20
RULES = (50, 100, 200, 500, 830, 1000, 2000)
HOT = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB"


class Bench:
    """What the measurements share: the folder, the sizes, the peers."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.folder: Path = options.folder
        self.size: int = options.size * MIB
        self.rounds: int = options.rounds
        self.seconds: float = options.seconds
        self.ripgrep: str = options.rg
        self.fail2ban: list[str] = options.fail2ban.split()
        self.env = {
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "XDG_STATE_HOME": str(self.folder / "state"),
            # An installed package is compiled; a checkout may not be.
            "PYTHONPYCACHEPREFIX": str(self.folder / "compiled"),
            "PYTHONDONTWRITEBYTECODE": "",
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        os.environ |= self.env
        self.catalogue = load_catalogue()
        self.patterns = self.folder / "patterns.txt"
        self.expressions = own_patterns(self.patterns)

    def log(self, name: str, make: Callable[[Path], object]) -> Path:
        """A generated log, made once per size and catalogue."""
        path = self.folder / f"{name}-{self.size // MIB}-{self.catalogue.digest}.log"
        if not path.exists():
            for old in self.folder.glob(f"{name}-{self.size // MIB}-*.log"):
                old.unlink()
            make(path)
        path.read_bytes() if path.stat().st_size < 64 * MIB else run(["cat", str(path)])  # into the page cache
        return path

    def bare(self) -> Path:
        """Healthy lines with a failure in every 20,000."""
        return self.log("bare", lambda path: write_log(path, self.size, samples_of(self.catalogue)))

    def replay(self, path: Path, jobs: int = 1) -> list[str]:
        """Our command."""
        return [*RESPONDER, "replay", str(path), "--format", "jsonl", "--jobs", str(jobs)]


def throughput(bench: Bench) -> None:
    """One GiB or what `--size` says: we, ripgrep, wc, fail2ban-regex."""
    log = bench.bare()
    small = bench.folder / "small.log"
    small.write_bytes(log.read_bytes()[: MIB // 2] if bench.size < 64 * MIB else _head(log, MIB // 2))
    filtered = bench.folder / "fail2ban.conf"
    fail2ban_filter(filtered, bench.patterns)
    commands = {
        "responder replay": bench.replay(log),
        "responder replay --jobs 2": bench.replay(log, 2),
        "rg -c -f": [bench.ripgrep, "-c", "-f", str(bench.patterns), str(log)],
        "rg --no-unicode -c -f": [bench.ripgrep, "--no-unicode", "-c", "-f", str(bench.patterns), str(log)],
        "wc -l": ["wc", "-l", str(log)],
        "cat": ["cat", str(log)],
    }
    costs = interleaved(commands, bench.rounds, bench.env)
    _table(f"{_size(log)}, {bench.expressions} expressions, a failure in every 20,000 lines", costs, log, "rg -c -f")
    if bench.fail2ban:
        argv = [*bench.fail2ban, str(small), str(filtered)]
        _table(f"{_size(small)} of it", {"fail2ban-regex": run(argv)}, small, None)


def docker(bench: Bench) -> None:
    """The same log, bare and as Docker's json-file keeps it."""
    bare = bench.bare()
    wrapped = bench.log("docker", lambda path: write_docker(bare, path))
    names = {"bare": bench.replay(bare), "docker": bench.replay(wrapped), "docker --jobs 2": bench.replay(wrapped, 2)}
    costs = interleaved(names, bench.rounds, bench.env)
    _table("The same log as Docker's json-file; rates are of the bare bytes", costs, bare, "bare")


def hot(bench: Bench) -> None:
    """One rule fires on 45 of 100 lines."""
    log = bench.log("hot", lambda path: write_log(path, bench.size, samples_of(bench.catalogue), hot=HOT))
    names = {"responder replay": bench.replay(log), "responder replay --jobs 2": bench.replay(log, 2)}
    _table(f"{_size(log)}, one rule fires on 45 of 100 lines", interleaved(names, bench.rounds, bench.env), log, None)


def start(bench: Bench) -> None:
    """An empty file, with the cache and without."""
    empty = bench.folder / "empty.log"
    empty.write_bytes(b"")
    names = {
        "replay of an empty file": bench.replay(empty),
        "responder --version": [*RESPONDER, "--version"],
        "rg -c -f of an empty file": [bench.ripgrep, "-c", "-f", str(bench.patterns), str(empty)],
        "python -c pass": [sys.executable, "-c", "pass"],
    }
    costs = interleaved(names, max(5, bench.rounds), bench.env)
    costs["first replay, nothing cached"] = run(
        bench.replay(empty), bench.env | {"XDG_CACHE_HOME": str(bench.folder / f"fresh-{time.time_ns()}")}
    )
    _table("Start-up", costs, None, None)


def beside(bench: Bench) -> None:
    """The daemon beside a writer."""
    busy = f"{live.LINES_PER_SECOND} lines/s in each"
    for title, rate, failing in (
        ("idle", 0, False),
        (busy, live.LINES_PER_SECOND, False),
        (f"{busy}, two failures a second", live.LINES_PER_SECOND, True),
    ):
        folder = bench.folder / f"live-{time.time_ns()}"
        folder.mkdir()
        catalogue = bench.catalogue if failing else None
        seen = live.measure(catalogue, folder, bench.seconds, bench.env | _state(folder), rate=rate)
        print(f"\n{live.FILES} files of {live.SERVERS} servers, {title}, {bench.seconds:.0f} s: {_load()}")
        print(f"  CPU {seen.cpu:.2%} of one core, {seen.resident / MIB:.0f} MiB resident")
        if seen.latencies:
            at = [seen.latencies[min(len(seen.latencies) - 1, int(len(seen.latencies) * q))] for q in (0.5, 0.99)]
            print(
                f"  write to incident: p50 {at[0] * 1000:.0f} ms, p99 {at[1] * 1000:.0f} ms, "
                f"worst {seen.latencies[-1] * 1000:.0f} ms; {seen.found} of {seen.asked} found"
            )


def many(bench: Bench) -> None:
    """What the number of rules costs."""
    log = bench.bare()
    print(f"\nCost against the number of rules, {_size(log)}: {_load()}")
    print(f"  {'rules':>6} {'patterns':>9} {'compile s':>10} {'database':>10} {'scan CPU s':>11} {'MB/s':>7}")
    for count in RULES:
        argv = [sys.executable, "-m", "tests.perf.many_rules", str(count), str(log)]
        found = json.loads(subprocess.run(argv, capture_output=True, check=True, text=True).stdout)
        print(
            f"  {count:>6} {found['patterns']:>9} {found['compile']:>10.2f} {found['bytes'] / MIB:>8.2f} M "
            f"{found['scan']:>11.2f} {log.stat().st_size / found['scan'] / 1e6:>7.0f}"
        )


MEASUREMENTS: dict[str, Callable[[Bench], None]] = {
    "throughput": throughput, "docker": docker, "hot": hot, "start": start, "live": beside, "rules": many
}  # fmt: skip


def _state(folder: Path) -> dict[str, str]:
    return {"XDG_STATE_HOME": str(folder / "state")}


def _table(title: str, costs: Mapping[str, Cost], log: Path | None, peer: str | None) -> None:
    size = log.stat().st_size if log is not None else 0
    print(f"\n{title}: {_load()}")
    print(f"  {'':32} {'wall s':>8} {'CPU s':>8} {'MB/s':>7} {'peak MiB':>9}" + ("  x wall  x CPU" if peer else ""))
    for name, cost in costs.items():
        rate = f"{size / cost.wall / 1e6:>7.0f}" if size else f"{'':>7}"
        line = f"  {name:32} {cost.wall:>8.3f} {cost.cpu:>8.3f} {rate} {cost.peak / MIB:>9.0f}"
        if peer is not None:
            line += f" {costs[peer].wall / cost.wall:>7.2f} {costs[peer].cpu / max(cost.cpu, 1e-3):>6.2f}"
        print(line + (f"  (exit status {cost.status})" if cost.status else ""))


def _head(path: Path, size: int) -> bytes:
    with path.open("rb") as file:
        return file.read(size)


def _size(path: Path) -> str:
    return f"{path.stat().st_size / MIB:,.1f} MiB"


def _load() -> str:
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def main(argv: Sequence[str] | None = None) -> None:
    """Measure what is asked for; everything by default."""
    parser = argparse.ArgumentParser(prog="python -m tests.perf", description=__doc__)
    parser.add_argument("what", nargs="*", choices=[[], *MEASUREMENTS], help="which measurements (default: all)")
    parser.add_argument("--size", type=int, default=1024, help="MiB of log (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, all commands in turn (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=30, help="of live following (default: %(default)s)")
    parser.add_argument("--folder", type=Path, default=Path("/var/tmp/responder-perf"), help="for logs and caches")
    parser.add_argument("--rg", default="rg", help="ripgrep (default: %(default)s)")
    parser.add_argument("--fail2ban", default="", help="the command of fail2ban-regex, where there is one")
    options = parser.parse_args(argv)
    bench = Bench(options)
    print(f"{time.strftime('%Y-%m-%d %H:%M')}, {platform.processor() or platform.machine()}, Python "
          f"{platform.python_version()}, {len(bench.catalogue.rules)} rules")  # fmt: skip
    for name in options.what or MEASUREMENTS:
        MEASUREMENTS[name](bench)


if __name__ == "__main__":
    main()
