"""The command ``fastndcg``, which ``python -m fastndcg`` is, too."""

import signal
import sys

try:
    from fastndcg.cli import main
except KeyboardInterrupt:  # before `main` can end it
    sys.stderr.write("fastndcg: interrupted\n")
    sys.exit(130)


def run() -> int:
    """Run the command line. SIGTERM ends it as Ctrl-C does, so that no temporary file stays."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    return main()


if __name__ == "__main__":
    sys.exit(run())
