"""One process per fleet that listens for the buttons under alerts."""
