"""A program that answers `from_ijk` with the voxels that it is given, and misbehaves as its first
argument says, at the case that its second names (1: the first that this process is asked)."""
import os
import signal
import sys
import time

how, when = sys.argv[1], int(sys.argv[2])
for count, line in enumerate(sys.stdin, 1):
    number, _, _, *fields = line.split()
    source = dict(f.split("=", 1) for f in fields)["source"]
    reply = f"{number} answer1 grid order=own voxels={source}\n"
    if count == when:
        if how == "crash":
            print("about to\ncrash", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGSEGV)
        elif how == "exit":
            sys.exit(3)
        elif how == "hang":
            time.sleep(600)
        elif how == "hang_with_a_child":
            os.spawnlp(os.P_WAIT, "sleep", "sleep", "600")
        elif how == "cut":
            print(reply[:-4], end="", flush=True)
            sys.exit(0)
        elif how == "half_then_hang":
            print(reply[:9], end="", flush=True)
            time.sleep(600)
        elif how == "number":
            reply = f"{int(number) + 1}" + reply[len(number):]
        elif how == "no_number":
            reply = reply[len(number) + 1:]
        elif how == "malformed":
            reply = f"{number} answer1 grid voxels=[1,2]\n"
        elif how == "wrong":
            reply = f"{number} answer1 grid order=own voxels=[7,7,7]\n"
        elif how == "twice":
            reply += reply
        elif how == "close":
            os.close(1)
            time.sleep(600)
        elif how == "silent":
            continue
        elif how == "failed":
            print("my own words", file=sys.stderr, flush=True)
            reply = f"{number} answer1 failed reason=a%20fault%20of%20mine\n"
        elif how == "loud":
            sys.stderr.write("x" * 5_000_000 + "\nthe last line\n")
            sys.stderr.flush()
            os.kill(os.getpid(), signal.SIGABRT)
        elif how == "deaf":  # does not read: a long case fills the pipe
            time.sleep(600)
        elif how == "nvdb":
            reply = f"{number} answer1 nanovdb file={sys.argv[3]}\n"
    sys.stdout.write(reply)
    sys.stdout.flush()
    if how == "crash_after" and count == when:
        os.kill(os.getpid(), signal.SIGBUS)
