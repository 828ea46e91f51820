"""Lists of operands that another thread changes during a call: the call kept no references to their elements."""

import subprocess
import sys

PROGRAM = """
import sys, threading, time
import torch, libsparse as ls
sys.setswitchinterval(1e-6)
operands = [ls.random((50, 50), density=0.2), torch.rand(50, 8)]
for _ in range(4):
    torch.linalg.multi_dot(operands)
end = time.monotonic() + 2

def change():
    while time.monotonic() < end:
        operands[1] = torch.rand(50, 8)

def call():
    while time.monotonic() < end:
        assert torch.linalg.multi_dot(operands).shape == (50, 8)

threads = [threading.Thread(target=work) for work in (change, change, call, call)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("done")
"""


def test_a_call_keeps_the_elements_of_a_list():
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120)
    assert ended.stdout == "done\n", ended.stderr[-2000:]
