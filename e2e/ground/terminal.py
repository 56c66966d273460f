"""Runs a command in a pseudo-terminal of 100 columns and 30 rows. What comes in is typed there; what is shown there goes out."""

import fcntl
import os
import pty
import select
import struct
import sys
import termios

pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    os.execvp(sys.argv[1], sys.argv[1:])

sources = [0, terminal]
while terminal in sources:
    for source in select.select(sources, [], [])[0]:
        try:
            data = os.read(source, 65536)
        except OSError:  # The command has ended.
            data = b""
        if not data:
            sources.remove(source)
        else:
            os.write(terminal if source == 0 else 1, data)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) % 256)
