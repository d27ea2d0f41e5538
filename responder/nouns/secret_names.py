"""Names that a secret stands under although no word in them says so: passwords cut short, and flags with a slip."""

from functools import lru_cache

PASSWORD = r"""(?:
    (?:admin|auth|basic|bind|broker|cert|database|db|ftp|http|imap|jdbc|keystore|kafka|ldap|mail|maria|mongo|mqtt|mysql
      |pg|postgres|proxy|rabbitmq|redis|registry|root|smtp|sql|ssh|store|sudo|user)[_-]?(?:pass|pwd|pw)
  | rediscli_auth)"""
"""A pattern, VERBOSE and IGNORECASE.  Alone the syllable says nothing: `PWD` is a folder, `forward_pass` a model's."""

_MEANT = ("api-key", "admin-api-key", "ssl-keyfile-password", "hf-token", "password", "passphrase", "secret")
"""The flags of sglang's that hold a secret, and those that people take for sglang's."""


@lru_cache(maxsize=1024)
def is_mistyped(flag: str) -> bool:
    """Whether a flag, without its dashes, holds a secret but for one letter that is missing, too many, wrong or astray.

    argparse refuses `--api-ky` and prints it with its value.
    """
    typed = flag.lower().replace("_", "-")
    return any(typed != meant and not _nearly(typed).isdisjoint(_nearly(meant)) for meant in _MEANT)


def _nearly(word: str) -> set[str]:
    return {word, *(word[:at] + word[at + 1 :] for at in range(len(word)))}
