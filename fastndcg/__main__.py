"""``python -m fastndcg`` is the command ``fastndcg``."""

import sys

from fastndcg.cli import main

if __name__ == "__main__":
    sys.exit(main())
