"""What a release knows, how it abbreviates, and how one release's flag is said in another."""

import pytest

from responder.advise.flags import Ambiguous, Flag, FlagTable, Renames, Unknown

TABLE = FlagTable.load()


def test_every_release_from_040_to_0523_is_there() -> None:
    assert (TABLE.releases[0], TABLE.releases[-1], len(TABLE.releases)) == ("0.4.0", "0.5.23", 25)
    assert (len(TABLE.release("0.4.0").options), len(TABLE.release("0.5.23").flags)) == (87, 531)


@pytest.mark.parametrize(
    ("asked", "used", "exact"),
    [
        ("0.5.23", "0.5.23", True),
        ("0.4.9.post2", "0.4.9", False),
        ("0.4.5", "0.4.3", False),
        ("0.6.1", "0.5.23", False),
        ("0.3.0", "0.4.0", False),
        (None, "0.5.23", False),
        ("main", "0.5.23", False),
    ],
)
def test_a_release_that_was_not_read_uses_the_nearest_older_one_and_says_so(
    asked: str | None, used: str, exact: bool
) -> None:
    release = TABLE.release(asked)
    assert (release.version, release.exact, bool(release.note)) == (used, exact, not exact)


def test_a_flag_is_found_by_alias_and_by_abbreviation() -> None:
    release = TABLE.release("0.5.23")
    for token in ("--tp-size", "--tensor-parallel-size", "--tensor", "--tensor-parallel-size=4"):
        found = release.resolve(token)
        assert isinstance(found, Flag)
        assert found.dest == "tp_size"


def test_an_abbreviation_of_several_flags_is_ambiguous() -> None:
    found = TABLE.release("0.5.23").resolve("--cuda-graph-max-bs")
    assert found == Ambiguous("--cuda-graph-max-bs", ("--cuda-graph-max-bs-decode", "--cuda-graph-max-bs-prefill"))


def test_an_unknown_flag_comes_with_those_that_look_like_it() -> None:
    found = TABLE.release("0.5.23").resolve("--tp-sizes")
    assert isinstance(found, Unknown)
    assert "--tp-size" in found.close


@pytest.mark.parametrize(
    ("release", "flag", "value", "spelled"),
    [
        ("0.4.9", "--attn-dp-size", "8", [("--enable-dp-attention", True), ("--dp-size", "8")]),
        ("0.5.6", "--cuda-graph-max-bs-decode", "16", [("--cuda-graph-max-bs", "16")]),
        ("0.5.10", "--enable-prefill-cp", True, [("--enable-prefill-context-parallel", True)]),
        ("0.5.10", "--cp-strategy", "zigzag", [("--prefill-cp-mode", "in-seq-split")]),
        ("0.5.13", "--cp-strategy", "interleave", [("--dsa-prefill-cp-mode", "round-robin-split")]),
        ("0.5.6", "--attention-backend", "dsa", [("--attention-backend", "nsa")]),
        ("0.5.23", "--enable-prefill-cp", True, [("--enable-prefill-cp", True)]),
        ("0.5.6", "--fp4-gemm-backend", "marlin", None),
        ("0.4.9", "--prefill-attention-backend", "fa3", None),
        ("0.5.23", "--kv-cache-dtype", "fp4_e2m1", None),
    ],
)
def test_a_flag_of_the_newest_release_is_spelled_as_an_older_one_does(
    release: str, flag: str, value: str | bool, spelled: list[tuple[str, str | bool]] | None
) -> None:
    assert TABLE.release(release).spell(flag, value) == spelled


def test_every_rename_leads_from_flags_that_were_to_settings_that_some_release_takes() -> None:
    releases = [TABLE.release(version) for version in TABLE.releases]
    for rename in Renames.load().rename:
        assert all(TABLE.ever(name) for name in rename.old), rename
        forward = rename.forward({name: next(iter(rename.values), "8") for name in (*rename.old, "--tp-size")})
        assert forward is not None
        for name, value in forward:
            passed_on = rename.new[name] == "{value}" and not rename.values
            assert any(r.has(name) if passed_on else r.accepts(name, value) for r in releases), (rename, name, value)


def test_every_flag_that_sglang_deprecates_for_another_is_renamed_here_too() -> None:
    known = {name for rename in Renames.load().rename for name in rename.old}
    for version in TABLE.releases:
        for flag in TABLE.release(version).flags:
            if flag.instead and flag.action in ("store", "true", "const"):
                assert known & set(flag.names), flag


@pytest.mark.parametrize("version", TABLE.releases)
def test_every_spelling_of_a_rename_is_one_that_the_release_takes(version: str) -> None:
    release = TABLE.release(version)
    for rename in Renames.load().rename:
        for flag, value in rename.new.items():
            for name, given in release.spell(flag, "8" if value == "{value}" else value) or ():
                assert release.accepts(name, given)
