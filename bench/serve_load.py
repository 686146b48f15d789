"""Requests/s and latency of a server of an index, by wrk and by an open loop of our own.

    python3 bench/serve_load.py URL [--rate 10000] [--seconds 10] [--connections 64] [--body JSON] [--no-wrk]

`wrk` asks again as soon as it has an answer: the rate that the server can do. The open loop sends at a constant rate
whether answers come or not, and takes a request's latency from the moment when it was due, so that a server that falls
behind is not asked less. It prints what of the rate it achieved, and quantiles. The processor time of the server is
measured if its process is named by --pid: figures per request do not depend on who else uses the machine.
"""

import argparse
import os
import re
import select
import socket
import subprocess
import tempfile
import time
import urllib.parse

PAUSE = 0.0002
BODY = '{"weights":{"price":-1,"rating":20},"k":10}'


def processor_seconds(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def request_of(url, body):
    host = url.hostname + (f":{url.port}" if url.port else "")
    head = f"POST {url.path.rstrip('/')}/search HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    return (head + f"Content-Length: {len(body)}\r\n\r\n{body}").encode()


def run_wrk(url, body, connections, seconds):
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(f'wrk.method="POST"\nwrk.body=[==[{body}]==]\nwrk.headers["Content-Type"]="application/json"\n')
        script.flush()
        command = ["wrk", "-t", "1", "-c", str(connections), "-d", f"{seconds}s", "--latency", "-s", script.name]
        out = subprocess.run(
            [*command, url.geturl().rstrip("/") + "/search"], capture_output=True, text=True, check=True
        ).stdout
    if "Non-2xx" in out or "Socket errors" in out:
        print(out)
    requests = int(re.search(r"(\d+) requests in", out)[1])
    rate = float(re.search(r"Requests/sec:\s+(\S+)", out)[1])
    quantiles = ", ".join(re.findall(r"^ +((?:50|99)% +\S+)$", out, re.MULTILINE))
    print(f"wrk, {connections} connections: {rate:,.0f}/s; {quantiles}")
    return requests


class Connection:
    """One request after the other; those that are due while one is under way wait here."""

    def __init__(self, url):
        self.socket = socket.create_connection((url.hostname, url.port or 80))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.due = None
        self.received = b""

    def send(self, request, due):
        self.due = due
        self.socket.sendall(request)

    def is_answered(self):
        """Reads what is there."""
        self.received += self.socket.recv(1 << 18)
        head, separator, body = self.received.partition(b"\r\n\r\n")
        if not separator:
            return False
        length = int(re.search(rb"[Cc]ontent-[Ll]ength: (\d+)", head)[1])
        if len(body) < length:
            return False
        assert head.startswith(b"HTTP/1.1 200"), self.received
        self.received = b""
        return True


def run_open_loop(url, body, connections, seconds, rate):
    request = request_of(url, body)
    idle = [Connection(url) for _ in range(connections)]
    by_number = {connection.socket.fileno(): connection for connection in idle}
    poll = select.epoll()
    for number in by_number:
        poll.register(number, select.EPOLLIN)
    latencies, sent, total = [], 0, int(rate * seconds)
    start = time.perf_counter()
    while len(latencies) < total:
        now = time.perf_counter()
        if now > start + 2 * seconds + 5:
            break
        while sent < total and idle and start + sent / rate <= now:
            idle.pop().send(request, start + sent / rate)
            sent += 1
        answered = poll.poll(0)
        if not answered:
            time.sleep(PAUSE)  # the server needs the core
        for number, _ in answered:
            connection = by_number[number]
            if connection.is_answered():
                latencies.append(time.perf_counter() - connection.due)
                idle.append(connection)
    elapsed = time.perf_counter() - start
    latencies.sort()
    at = {
        name: 1e3 * latencies[int(q * (len(latencies) - 1))] for name, q in [("50%", 0.5), ("90%", 0.9), ("99%", 0.99)]
    }
    print(
        f"open loop, {rate:,.0f}/s wanted, {len(latencies) / elapsed:,.0f}/s answered; "
        + ", ".join(f"{name} {value:.2f} ms" for name, value in at.items())
    )
    return len(latencies)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url", type=urllib.parse.urlparse)
    parser.add_argument("--rate", type=float, default=10_000)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--body", default=BODY)
    parser.add_argument("--no-wrk", action="store_true")
    parser.add_argument("--pid", type=int)
    given = parser.parse_args()
    parts = [lambda: run_open_loop(given.url, given.body, given.connections, given.seconds, given.rate)]
    if not given.no_wrk:
        parts.insert(0, lambda: run_wrk(given.url, given.body, given.connections, given.seconds))
    for part in parts:
        before = processor_seconds(given.pid) if given.pid else 0
        requests = part()
        if given.pid:
            used = (processor_seconds(given.pid) - before) / requests
            print(f"  the server took {1e6 * used:.1f} us of processor time a request: {2 / used:,.0f}/s on two cores")


main()
