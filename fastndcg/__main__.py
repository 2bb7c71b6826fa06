"""The command ``fastndcg``, which ``python -m fastndcg`` is, too."""

import sys

try:
    from fastndcg.cli import main
except KeyboardInterrupt:  # before `main` can end it
    sys.stderr.write("fastndcg: interrupted\n")
    sys.exit(130)

if __name__ == "__main__":
    sys.exit(main())
