"""
Runs a command in a pseudo-terminal of 100 columns and 30 rows. What comes in is typed there; what is shown there goes out. A request for
another size that comes in (CSI 8 ; rows ; columns t, as of xterm) is not typed: it resizes the terminal.
"""

import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios


def resize(descriptor, rows, columns):
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def typed(data):
    for rows, columns in re.findall(rb"\x1b\[8;(\d+);(\d+)t", data):
        resize(terminal, int(rows), int(columns))
    return re.sub(rb"\x1b\[8;\d+;\d+t", b"", data)


pid, terminal = pty.fork()
if pid == 0:
    resize(0, 30, 100)
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
        elif source == terminal:
            os.write(1, data)
        else:
            os.write(terminal, typed(data))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) % 256)
