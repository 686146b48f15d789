"""A slider of the server's page, moved for some seconds in Chromium: answers that were drawn, and the longest frame.

    culmen serve INDEX --port 8080 &
    python3 bench/page_slider.py http://127.0.0.1:8080/ [--seconds 10] [--slider 1] [--pictures FOLDER] [--state JSON]

--pictures keeps screenshots at three widths in both themes, and --state is what the page's address has after #.
Processor time of the page's main thread is printed as well: frames are longer where other programs use the cores.
"""

import argparse
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/tools"))
from page_test import Browser

MOVE = """new Promise((done) => {
  const slider = document.querySelector('#slider-%d'), begin = performance.now(), frames = [];
  let answers = 0, last = begin, step = 0;
  new MutationObserver(() => ++answers).observe(document.querySelector('#time'), {childList: true});
  const frame = (now) => {
    frames.push(now - last);
    last = now;
    slider.value = Math.sin(++step / 40);
    slider.dispatchEvent(new Event('input'));
    if (now - begin < %d) requestAnimationFrame(frame); else done({answers, frames, seconds: (now - begin) / 1000});
  };
  requestAnimationFrame(frame);
})"""


def load(browser, url, state):
    browser.call("Page.navigate", url="about:blank")
    browser.call("Page.navigate", url=url + (f"#{state}" if state else ""))
    while not browser.run("document.querySelectorAll('#rows tr').length > 0"):
        time.sleep(0.1)
    time.sleep(1)


def busy_seconds(browser):
    metrics = browser.call("Performance.getMetrics")["metrics"]
    return next(one["value"] for one in metrics if one["name"] == "TaskDuration")


def take_pictures(browser, url, folder, state):
    folder.mkdir(parents=True, exist_ok=True)
    for width in (390, 820, 1440):
        for theme in ("light", "dark"):
            browser.show_as(width, theme)
            load(browser, url, state)
            browser.run("document.querySelector('#draw-map').click()")
            for row in (0, 2):
                browser.run(f"document.querySelectorAll('#rows button')[{row}].click()")
            time.sleep(1.5)
            (folder / f"page-{width}-{theme}.png").write_bytes(browser.picture(format="png"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--slider", type=int, default=1)
    parser.add_argument("--state", default="")
    parser.add_argument("--pictures", type=pathlib.Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(profile)
        try:
            if given.pictures:
                take_pictures(browser, given.url, given.pictures, given.state)
            browser.show_as(1440, "light")
            load(browser, given.url, given.state)
            browser.call("Performance.enable", timeDomain="threadTicks")
            before = busy_seconds(browser)
            moved = browser.run(MOVE % (given.slider, 1000 * given.seconds))
            busy = busy_seconds(browser) - before
            frames = sorted(moved["frames"])
            print(
                f"{moved['answers'] / moved['seconds']:.1f} answers/s drawn;"
                f" frames: {len(frames) / moved['seconds']:.0f}/s,"
                f" median {frames[len(frames) // 2]:.1f} ms, 99% {frames[int(0.99 * len(frames))]:.1f} ms,"
                f" longest {frames[-1]:.1f} ms; {sum(one > 50 for one in frames)} of more than 50 ms"
            )
            print(
                f"the page's main thread: {1e3 * busy / moved['answers']:.1f} ms of processor time an answer,"
                f" {100 * busy / moved['seconds']:.0f} % of the time"
            )
            assert browser.problems == [], browser.problems
        finally:
            browser.close()


main()
