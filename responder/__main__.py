"""`python -m responder` is `responder`."""

from responder.cli import main

main()
