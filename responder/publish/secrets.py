"""Secrets in a text: API keys, tokens, passwords, bearer headers, URLs with credentials, private keys.

Two kinds of name decide.  A *strong* one (`api_key`, `password`, `hf_token`) hides any value.  A *weak* one (anything
that ends in `token`) hides only what looks like a credential, for sglang's own vocabulary is full of tokens:
`token usage: 0.98`, `bos_token='<s>'`, `#new-token: 8192`, `max_total_num_tokens=463104`.  And some shapes (`hf_…`,
`AKIA…`, a JWT) are secrets wherever they stand.

Every pattern is linear in the length of the text: repetitions that may fail are bounded or possessive.
"""

import re
from collections.abc import Iterable

from responder.nouns.secret_names import PASSWORD, is_mistyped
from responder.scan.literals import DOUBLE, ESCAPED, SINGLE

MASK = "[redacted]"
"""Stands where a secret stood."""

# --- Names and values ------------------------------------------------------------------------------------------------

_STRONG = r"""
    api[_\s-]?keys?(?:[ ](?:provided|given))? | access[_-]?key(?:[_-]?id)? | account[_-]?key
  | secret[_-]?(?:access[_-]?)?key | private[_-]?key
  | client[_-]?secret | watermark[_-]?(?:key|secret) | shared[_-]?access[_-]?key | signing[_-]?key | encryption[_-]?key
  | (?:keyfile[_-]?)?pass(?:word|wd|phrase) | secrets? | credentials?
  | (?<![A-Za-z])(?:hf|hub|hugging[_-]?face(?:[_-]?hub)?|auth|access|refresh|bearer|api|session|security|github|gitlab
     |gh|slack|oauth|personal|private|registry|npm|pypi|wandb|csrf|service|deploy|jwt|id)[_-]?token
  | x[_-](?:amz|goog)[_-](?:signature|credential|security[_-]token) | x[_-]api[_-]key
  | (?:proxy[_-])?authorization | (?:set[_-])?cookie | sshpass
"""
# A value in quotes, with whatever a shell would glue to it.
_QUOTED = rf"(?:{DOUBLE}|{SINGLE})(?:{DOUBLE}|{SINGLE}|[^\s\"',;)\]}}])*+"
_BARE = r"""[^\s"']++(?:["']\w\S*+)?"""
_NOTHING = r"(?:None|null|true|false)(?=[,;)\]}\s]|\Z)"
_VALUE = rf"(?:{_NOTHING}|{_QUOTED}|{ESCAPED}|\[[^\]\n]*+\]?|(?:(?:Bearer|Basic|Digest|Token)\s+)?{_BARE})"
_ASSIGN = r"""\\*["']?\]?\s{0,3}(?:=>|:=|=|:)\s{0,3}"""

_STRONG_ASSIGNED = re.compile(rf"(?P<key>(?:{_STRONG}){_ASSIGN})(?P<value>{_VALUE})", re.VERBOSE | re.IGNORECASE)
_COOKIE = re.compile(r"((?:set-)?cookie\s{0,3}:\s{0,3})[^\n\"']+", re.IGNORECASE)

# A flag takes its value after a space or, where an argv was printed as a list, after `', '`.  argparse lets a flag be
# cut short as long as it stays unique: `--api-k` is `--api-key`.
_GAP = r"""(?P<gap>\s{0,3}=\s{0,3}|\s{1,9}|\\*["'],\s{0,9})"""
_FLAG = re.compile(
    rf"""(?P<key>(?<!-)--(?P<name>api(?:[_-]k(?:ey?)?)?|admin[_-][a-z_-]{{0,20}}|ssl[_-]keyfile[_-]p[a-z]{{0,20}}
                          |[a-z0-9_-]{{0,40}}(?:{_STRONG}))
         {_GAP})(?P<value>{_VALUE})""",
    re.VERBOSE | re.IGNORECASE,
)
_ANY_FLAG = re.compile(r"(?<!-)--([A-Za-z][\w-]{3,24})(?![\w-])")

_PASSWORD_ASSIGNED = re.compile(
    rf"(?P<key>(?:{PASSWORD} | (?<=[;&?])(?:pwd|pass) | (?<=[ ])pass(?==)){_ASSIGN})(?P<value>{_VALUE})",
    re.VERBOSE | re.IGNORECASE,
)

# A variable of the environment, whatever service it is for.  Spaces around the `=` are a program's: it names a token of
# a model, as `IMAGE_TOKEN = "<image>"` does.
_VARIABLE = re.compile(
    rf"""(?P<key>(?<=[A-Z0-9])_(?:PASS|PWD|PW|TOKEN|AUTH)(?:=|\\*["']\]?\s?[:=]\s?))
         (?!\\*["']?(?:[0-9.]+|true|false|yes|no|on|off|<[^\s"']*)\\*(?:["',;)\]}}\s]|\Z))(?P<value>{_VALUE})""",
    re.VERBOSE,
)

_WEAK_ASSIGNED = re.compile(
    rf"""(?P<key>(?:token|sig|signature|nonce|(?-i:[A-Z]_KEY)){_ASSIGN}\\*["']?)
         (?P<value>(?=[^\s"']{{0,200}}[0-9])(?=[^\s"']{{0,200}}[A-Za-z])[A-Za-z0-9_./+=~:%-]{{20,}})""",
    re.VERBOSE | re.IGNORECASE,
)

_HINTS = (
    "key", "pass", "pw", "secret", "token", "cred", "auth", "cookie", "sig", "nonce", "--",
)  # fmt: skip
_PASSWORD_HINTS = ("pass", "pw", "rediscli")
"""Where none of these stands, no name above does: asking for them first makes most texts ten times cheaper."""

# Already harmless: nothing, a reference to the environment, or what an earlier pass left.
_HARMLESS = re.compile(
    r"""\\*+["']?(?:None|null|[Tt]rue|[Ff]alse|\$\w+|\$\{\w+\}|\*+|\[redacted\])?\\*+["']?[,;)\]}]*+"""
)

_PROSE = frozenset(
    (
        "a", "an", "and", "are", "as", "be", "but", "by", "can", "cannot", "for", "from", "has", "have", "if", "in",
        "is", "it", "must", "no", "not", "of", "on", "or", "pass", "requires", "set", "so", "that", "the", "then", "to",
        "unless", "use", "was", "when", "which", "with", "without",
    )
)  # fmt: skip
"""Words behind a name that make it part of a sentence: `--api-key has no effect`, `--admin-api-key: the listener …`."""

# --- Shapes that are secrets wherever they stand ---------------------------------------------------------------------

_SHAPES: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?"
            r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
            re.DOTALL,
        ),
        "[private key redacted]",
    ),
    # The body of such a key, where its first line was cut off.
    (re.compile(r"^(?=.*[A-Z])(?=.*[a-z])(?=.*\d)[A-Za-z0-9+/]{60,76}={0,2}$", re.MULTILINE), MASK),
    (re.compile(r"(\b[a-z][a-z0-9+.-]{0,30}://)[^\s/\"'<>]+@", re.IGNORECASE), rf"\1{MASK}@"),
    (re.compile(r"(https?://hooks\.slack(?:-gov)?\.com/)[\w/-]+", re.IGNORECASE), rf"\1{MASK}"),
    (
        re.compile(
            r"(\b(?:Bearer|Basic)\s+)(?!(?:tokens?|auth\w*|scheme|header|key|credentials?)\b)[A-Za-z0-9._~+/=-]{6,}",
            re.IGNORECASE,
        ),
        rf"\1{MASK}",
    ),
    (re.compile(r"((?:^|\s)(?:-u|--user)[=\s]{1,3})(?!\d+:\d+\b)[^\s:\"']+:[^\s\"']+"), rf"\1{MASK}"),
    (re.compile(r"(\bsshpass\s+-p\s*)\S+"), rf"\1{MASK}"),
    (
        re.compile(
            r"""(?<![A-Za-z0-9])(?:
                hf_[A-Za-z0-9]{16,} | api_org_[A-Za-z0-9]{16,}                       # Hugging Face
              | (?:AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AROA|ANPA)[A-Z0-9]{16}              # AWS
              | (?:xox[a-z]|xapp|xwfp)(?:\.xox[a-z])?-[A-Za-z0-9-]{8,}               # Slack
              | eyJ[\w-]{8,1000}\.[\w-]{8,}(?:\.[\w-]*){0,3}                         # JWT, JWE
              | gh[pousr]_[A-Za-z0-9]{20,} | github_pat_\w{20,} | glpat-[\w-]{16,}   # GitHub, GitLab
              | sk-[\w-]{16,} | nvapi-[\w-]{16,} | gsk_\w{20,} | r8_\w{20,}          # model vendors
              | AIza[\w-]{30,} | ya29\.[\w-]{16,}                                    # Google
              | [sr]k_(?:live|test)_\w{10,} | npm_\w{30,} | pypi-[\w-]{30,}
              | dckr_pat_[\w-]{16,} | SG\.[\w-]{16,}\.[\w-]{16,}
            )""",
            re.VERBOSE,
        ),
        MASK,
    ),
)


def mask_secrets(text: str) -> str:
    """The text with every secret masked; what holds none comes back unchanged."""
    lowered = text.lower()
    named = any(hint in lowered for hint in _HINTS)
    if named:
        text = _COOKIE.sub(rf"\1{MASK}", text)
        text = _FLAG.sub(_mask_flag, _mask_mistyped(text))
        text = _STRONG_ASSIGNED.sub(_mask_value, text)
        text = _VARIABLE.sub(_mask_value, text)
    if any(hint in lowered for hint in _PASSWORD_HINTS):
        text = _PASSWORD_ASSIGNED.sub(_mask_value, text)
    for pattern, mask in _SHAPES:
        text = pattern.sub(mask, text)
    return _WEAK_ASSIGNED.sub(_mask_value, text) if named else text


def mask_argv(argv: Iterable[str]) -> tuple[str, ...]:
    """A launch command without its secrets; each becomes a reference to the environment, as a shell would take it."""
    masked: list[str] = []
    flag = ""
    for word in argv:
        if flag and not _IS_FLAG.fullmatch(word):
            masked.append(word if _HARMLESS.fullmatch(word) else "$" + _variable(flag))
        else:
            masked.append(mask_secrets(word))
        found = _FLAG.fullmatch(f"{word} x")
        slip = word.startswith("--") and is_mistyped(word[2:])
        flag = word[2:] if slip else found["name"] if found and "=" not in word else ""
    return tuple(masked)


def names_a_secret(name: str) -> bool:
    """Whether a value under this name is a secret, whatever it looks like."""
    return _STRONG_NAME.fullmatch(name) is not None


def is_harmless(value: str) -> bool:
    """Whether a value is nothing, a reference to the environment, or masked already."""
    return _HARMLESS.fullmatch(value) is not None


_REFERENCE = re.compile(r"""["'\\]*\$\{?[A-Za-z_]\w*\}?["'\\]*$""")
"""A variable, in whatever quotes a nested shell needs: masked already, and not to be masked into broken shell."""

_IS_FLAG = re.compile(r"--[A-Za-z][\w-]*(?:=.*)?", re.DOTALL)

_CLOSERS = ",;)]}"
"""What may stand right behind a bare value without being part of it."""
_STRONG_NAME = re.compile(rf"[\w.-]*(?:{_STRONG} | {PASSWORD})", re.VERBOSE | re.IGNORECASE)


def _mask_value(found: re.Match[str]) -> str:
    value = found["value"]
    if _HARMLESS.fullmatch(value) or value in _PROSE:
        return found[0]
    quote = re.match(r"""\\*["']""", value)
    if quote:
        return f"{found['key']}{quote[0]}{MASK}{quote[0]}"
    return f"{found['key']}{MASK}{'' if value.startswith('[') else _closers(value)}"


def _mask_mistyped(text: str) -> str:
    for name in {name for name in _ANY_FLAG.findall(text) if is_mistyped(name)}:
        text = re.sub(rf"(?P<key>(?<!-)--(?P<name>{name}){_GAP})(?P<value>{_VALUE})", _mask_flag, text)
    return text


def _mask_flag(found: re.Match[str]) -> str:
    value, variable = found["value"], _variable(found["name"])
    if (
        _HARMLESS.fullmatch(value)
        or value in _PROSE
        or _REFERENCE.match(value)
        or value.startswith("--")
        or value.rstrip(_CLOSERS) == variable.removeprefix("SGLANG_")
    ):
        return found[0]  # the last: argparse's usage names the value after the flag, `--api-key API_KEY`
    if "," in found["gap"]:  # an argv printed as a list is no shell line
        return _mask_value(found)
    return f'{found["key"]}"${variable}"{_closers(value)}'


def _closers(value: str) -> str:
    return value[len(value.rstrip(_CLOSERS)) :]


def _variable(flag: str) -> str:
    """The environment variable that a masked flag refers to: `--api-key "$SGLANG_API_KEY"`."""
    name = flag.strip("-").upper().replace("-", "_")
    name = "API_KEY" if name in {"API", "API_K", "API_KE"} else name
    return name if name.startswith(("SGLANG_", "HF_", "AWS_")) else f"SGLANG_{name}"
