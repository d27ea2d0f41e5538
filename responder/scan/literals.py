"""String literals as they stand in a line of a log; the closing quote may have been cut off with the line."""

DOUBLE = r'"(?:[^"\\\n]|\\.)*+(?:"|\\?(?=\n|\Z))'
SINGLE = r"'(?:[^'\\\n]|\\.)*+(?:'|\\?(?=\n|\Z))"
ESCAPED = r"""\\+["'](?:[^"'\\\n]|\\(?!["']))*+(?:\\+["'])?"""
"""JSON inside a JSON string: `\\"value\\"`."""
