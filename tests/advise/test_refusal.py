"""Why a launch was refused, read from the source that raised."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from responder.advise.advise import advise
from responder.advise.gpu.spec import parse_gpu_spec
from responder.advise.learn import Host, learn, parsed
from responder.advise.refusal import installed, why_refused
from responder.catalogue import Catalogue
from responder.diagnose import Finding
from responder.nouns import Server
from responder.scan import Program
from tests.advise.oracles import pythons, release_of
from tests.diagnosing import findings

SOURCE = '''
"""Checks in the shapes that argument checks have."""
from sglang.srt.environ import envs


def check(server_args):
    cfg = resolved_view(server_args)
    per_group = cfg.tp_size // cfg.attn_cp_size
    if not cfg.enable_lora:
        return {}
    if cfg.attn_cp_size > 1:
        prefill, decode = backends_of(cfg)
        if prefill == "trtllm_mha" and not get_platform().is_sm100:
            raise ValueError(
                "the first of these checks was not passed"
            )
        elif envs.SGLANG_SPECIAL.get() or os.environ.get("SGLANG_OTHER") == "1":
            raise ValueError("the second of these checks was not passed")
        else:
            assert per_group % 2 == 0, "the third of these checks was not passed"
    assert (
        cfg.kv_cache_dtype != "auto"
    ), "the fourth of these checks was not passed"
    for name in cfg.names:
        if name is None:
            continue
        match name:
            case "x":
                raise RuntimeError(f"the fifth of these checks was not passed by {name}")
    if cfg.api_key is not None and get_server_args().page_size in (1, 64):
        raise ValueError("the sixth of these checks was not passed")
    raise NotImplementedError("the seventh of these checks was not passed")
'''
COMMAND = (
    "sglang serve /m --tp-size 6 --attn-cp-size 2 --enable-lora --api-key sk-1234567890abcdef --page-size 64"
    " --kv-cache-dtype auto"
)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """The file as if installed."""
    file = tmp_path / "site-packages" / "sglang" / "srt" / "checks.py"
    file.parent.mkdir(parents=True)
    file.write_text(SOURCE)
    return file


def log(file: Path, text: str, source: str | None = None, line: int | None = None) -> str:
    """The traceback of the check that raises `text`."""
    lines = SOURCE.splitlines()
    at = next(number for number, content in enumerate(lines, 1) if text in content)
    while line is None and not lines[at - 1].strip().startswith(("raise", "assert")):
        at -= 1
    at = line or at
    kind = {"raise": lines[at - 1].split("(")[0].split()[-1], "assert": "AssertionError"}[lines[at - 1].split()[0]]
    said = source if source is not None else lines[at - 1].strip()
    return (
        "Traceback (most recent call last):\n"
        f'  File "/opt/app/main.py", line 3, in main\n    check(args)\n'
        f'  File "{file}", line {at}, in check\n    {said}\n'
        f"{kind}: {text}\n"
    )


def refused(program: Program, text: str, command: str | None = COMMAND) -> str | None:
    finding, host = found(program, text), HOST
    return why_refused(finding, learn(host, parsed(command)[0], phase=finding.phase))


def found(program: Program, text: str) -> Finding:
    [finding] = findings(program, text)
    return finding


HOST = Host(server=Server(name="llama", version="0.5.23"), gpu=parse_gpu_spec("8xsm90"))


@pytest.mark.parametrize(
    ("check", "sentence"),
    [
        (
            "the first of these checks was not passed",
            "because enable_lora and attn_cp_size > 1 and prefill == 'trtllm_mha' and not is_sm100"
            " (enable_lora = True; attn_cp_size = 2; the GPU is SM90).",
        ),
        (
            "the second of these checks was not passed",
            "because enable_lora and attn_cp_size > 1 and not (prefill == 'trtllm_mha' and (not is_sm100)) and"
            " (SGLANG_SPECIAL or SGLANG_OTHER == '1')"
            " (enable_lora = True; attn_cp_size = 2; the GPU is SM90).",
        ),
        (
            "the fourth of these checks was not passed",
            "because enable_lora and kv_cache_dtype == 'auto' (enable_lora = True; kv_cache_dtype = 'auto').",
        ),
        (
            "the sixth of these checks was not passed",
            "because enable_lora and api_key is not None and page_size in (1, 64)"
            " (enable_lora = True; page_size = 64).",
        ),
    ],
)
def test_the_guards_of_a_refusal_are_told_with_what_they_rest_on(
    program: Program, site: Path, check: str, sentence: str
) -> None:
    said = refused(program, log(site, check))
    assert said is not None
    place, _, because = said.partition(" because ")
    assert place.startswith("Raised at srt/checks.py:")
    assert f"because {because}" == sentence


def test_a_local_variable_is_traced_to_the_arguments_it_was_made_of(program: Program, site: Path) -> None:
    said = refused(program, log(site, "the third of these checks was not passed"))
    assert said is not None
    assert "per_group % 2 != 0" in said
    assert "(attn_cp_size = 2; per_group = tp_size // attn_cp_size; tp_size = 6; the GPU is SM90)" in said


def test_a_variable_of_the_environment_is_told_with_its_value(program: Program, site: Path) -> None:
    said = refused(program, log(site, "the second of these checks was not passed"), f"SGLANG_SPECIAL=7 {COMMAND}")
    assert said is not None
    assert "SGLANG_SPECIAL = '7'" in said


def test_no_secret_is_told(program: Program, site: Path) -> None:
    said = refused(program, log(site, "the sixth of these checks was not passed"))
    assert said is not None
    assert "sk-" not in said


def test_without_a_launch_command_the_conditions_stand_alone(program: Program, site: Path) -> None:
    said = refused(program, log(site, "the first of these checks was not passed"), None)
    assert said is not None
    assert "attn_cp_size > 1 and prefill == 'trtllm_mha' and not is_sm100 (the GPU is SM90)." in said


def test_a_value_that_contradicts_the_condition_is_not_told(program: Program, site: Path) -> None:
    said = refused(program, log(site, "the first of these checks was not passed"), "sglang serve /m --attn-cp-size 1")
    assert said is not None
    assert "attn_cp_size = " not in said


def test_a_raise_without_conditions_says_nothing(program: Program, site: Path) -> None:
    site.write_text("def check(server_args):\n    raise ValueError('unconditionally refused')\n")
    text = f'Traceback (most recent call last):\n  File "{site}", line 2, in check\n'
    text += "    raise ValueError('unconditionally refused')\nValueError: unconditionally refused\n"
    assert refused(program, text) is None


@pytest.mark.parametrize("line", ["raise ValueError(another)", ""])
def test_source_of_another_release_is_not_believed(program: Program, site: Path, line: str) -> None:
    assert refused(program, log(site, "the first of these checks was not passed", source=line)) is None


def test_the_same_line_with_another_text_is_not_believed(program: Program, site: Path) -> None:
    text = log(site, "the first of these checks was not passed")
    site.write_text(SOURCE.replace("the first of these", "a quite different"))
    assert refused(program, text) is None


def test_a_frame_of_another_function_is_not_believed(program: Program, site: Path) -> None:
    text = log(site, "the first of these checks was not passed").replace("in check", "in other")
    assert refused(program, text) is None


def test_the_line_of_a_call_is_no_refusal(program: Program, site: Path) -> None:
    text = log(site, "the first of these checks was not passed")
    at = SOURCE.splitlines().index("        prefill, decode = backends_of(cfg)") + 1
    text = text.replace(text.split(f'"{site}", line ')[1].split(",")[0], str(at))
    assert refused(program, text.replace("raise ValueError(", "prefill, decode = backends_of(cfg)")) is None


def test_only_files_of_an_installed_sglang_are_opened(tmp_path: Path) -> None:
    inside = tmp_path / "site-packages" / "sglang" / "a.py"
    inside.parent.mkdir(parents=True)
    inside.write_text("x = 1\n")
    assert installed(str(inside)) == inside
    outside = tmp_path / "secret.py"
    outside.write_text("x = 1\n")
    link = inside.with_name("link.py")
    link.symlink_to(outside)
    huge = inside.with_name("huge.py")
    huge.write_bytes(b"#" * (2 << 20))
    fifo = inside.with_name("fifo.py")
    os.mkfifo(fifo)
    folder = inside.with_name("folder.py")
    folder.mkdir()
    refused_paths = [outside, link, huge, fifo, folder, inside.with_name("absent.py"), inside.with_suffix(".txt")]
    refused_paths += [Path("/etc/passwd"), Path("site-packages/sglang/a.py")]
    assert [installed(str(path)) for path in refused_paths] == [None] * len(refused_paths)
    assert installed(f"{inside.parent}/../../secret.py") is None
    assert installed("/\0/site-packages/sglang/a.py") is None


@pytest.mark.parametrize("content", ["def check(:\n", "(" * 5000, "\0", "x = 1\n"])
def test_source_that_is_damaged_says_nothing(program: Program, site: Path, content: str) -> None:
    text = log(site, "the first of these checks was not passed")
    site.write_text(content)
    assert refused(program, text) is None


def test_the_sentence_stands_with_the_cause_of_an_unknown_failure(
    program: Program, catalogue: Catalogue, site: Path
) -> None:
    finding = found(program, log(site, "the first of these checks was not passed"))
    assert finding.rule is None
    incident = advise(finding, Host(server=HOST.server, gpu=HOST.gpu, command=COMMAND), catalogue.by_id)
    assert "Raised at srt/checks.py:" in incident.cause
    assert incident.remedies == ()


def test_reading_the_largest_file_takes_a_fraction_of_a_second(program: Program, site: Path) -> None:
    filler = "".join(f"def f{n}(a, b):\n    return [a for a in b if a > {n}]\n\n\n" for n in range(6000))
    text = log(site, "the first of these checks was not passed")
    site.write_text(f"{SOURCE}\n\n{filler}")
    begun = time.process_time()
    assert refused(program, text) is not None
    assert time.process_time() - begun < 2.0


ORACLE = Path(__file__).parent.parent / "oracle"
CHECK = """
import sys
import pretend_gpu
from sglang.srt.server_args import prepare_server_args
args = prepare_server_args(sys.argv[1:])
args.resolve_once()
args.check_server_args()
"""


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("arguments", "because"),
    [
        (
            "--tp-size 4 --attn-cp-size 3",
            "attn_cp_size > 1 and tp_size % attn_cp_size != 0 (attn_cp_size = 3; tp_size = 4)",
        ),
        (
            "--enable-prefill-cp",
            "enable_prefill_cp and cp_strategy is None (enable_prefill_cp = True; cp_strategy = None)",
        ),
        (
            "--tp-size 2 --attn-cp-size 2 --prefill-attention-backend trtllm_mha",
            "prefill_backend == 'trtllm_mha' and not is_sm100 and attn_cp_size > 1 (attn_cp_size = 2; the GPU is SM90)",
        ),
    ],
)
def test_the_real_sources_say_why_the_real_sglang_refused(program: Program, arguments: str, because: str) -> None:
    for python in pythons():
        env = {**os.environ, "PYTHONPATH": str(ORACLE / "inside"), "PRETEND_SM": "90"}
        argv = ["--model-path", str(ORACLE / "models" / "qwen3"), *arguments.split()]
        done = subprocess.run([python, "-c", CHECK, *argv], env=env, capture_output=True, text=True, timeout=300)
        [finding] = findings(program, done.stderr)
        host = Host(server=Server(name="llama", version=release_of(python)), gpu=parse_gpu_spec("8xsm90"))
        known = learn(host, parsed(f"sglang serve {' '.join(argv[1:])}")[0], phase="arguments")
        said = why_refused(finding, known)
        assert said is not None, done.stderr
        assert because in said
