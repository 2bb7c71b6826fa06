"""Run a command with one of its streams on a terminal."""

import os
import subprocess


def run_on_terminal(command, stream, **options):
    """Return the exit code, what the command writes to the terminal, and what it writes to the other stream."""
    import pty

    ours, theirs = pty.openpty()
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | {stream: theirs}
    with subprocess.Popen(command, **streams, **options) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # Linux raises an error once the other side is closed
                break
            if not piece:
                break
            shown += piece
        other = (process.stdout or process.stderr).read()
    os.close(ours)
    return process.returncode, shown.decode(), other.decode()
