"""The page of culmen serve, in Chromium. Skipped without one."""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

from serve_test import ServeCase

TABLE = "[...document.querySelectorAll('#rows tr')].map((row) => Number(row.dataset.id))"
ROOT = pathlib.Path(__file__).resolve().parents[2]
AXE = sorted(ROOT.glob("build/python-venv/lib/python3*/site-packages/axe_core_python/axe.min.js"))
AXE = os.environ.get("CULMEN_AXE") or (AXE and AXE[0])  # axe-core, which scripts/test.sh installs
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


class Browser:
    """A page of a headless Chromium, over its protocol for tools on two pipes."""

    def __init__(self, profile):
        to_browser, self.commands = os.pipe()
        self.events, from_browser = os.pipe()
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
        command = [CHROMIUM, *options, f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"]
        redirect = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'  # the numbers that Chromium expects
        self.process = subprocess.Popen(
            ["bash", "-c", redirect, "bash", *command],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self.number, self.rest, self.session, self.problems = 0, b"", None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Runtime.enable")
        self.call("Page.enable")

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.next_message()
            if answer.get("method") == "Runtime.exceptionThrown":
                self.problems.append(answer["params"]["exceptionDetails"])
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]

    def next_message(self):
        while b"\0" not in self.rest:
            part = os.read(self.events, 1 << 16)
            assert part, "Chromium has ended"
            self.rest += part
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def run(self, script):
        """The value of an expression on the page, which may be a promise."""
        done = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def show_as(self, width, theme):
        screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **screen)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])

    def picture(self, **options):
        """The whole page, as a PNG or what the options say."""
        return base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True, **options)["data"])

    def key(self, name, code):
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code)

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.commands)
        os.close(self.events)


@unittest.skipUnless(CHROMIUM, "there is no Chromium")
class PageTest(ServeCase):
    def setUp(self):
        super().setUp()
        rows = "\n".join(
            f"{i},{i * 7919 % 1000},{i * 104729 % 97 / 8},{'<b>' if i % 9 == 0 else 'Roma'},2024-01-{1 + i % 28:02}"
            for i in range(3000)
        )
        self.write("table.csv", "id,price,rating,city,opened\n" + rows + "\n")
        self.culmen("build", "table.csv", "-o", "table", "--id", "id", "--attributes", "price:low,rating")
        self.serve(directory="table")
        profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)  # Chromium writes until it has ended
        self.addCleanup(profile.cleanup)
        self.browser = Browser(profile.name)
        self.addCleanup(self.browser.close)
        self.load("")

    def load(self, state):
        self.browser.run("window.isOld = true")
        self.browser.call("Page.navigate", url="about:blank")
        self.browser.call("Page.navigate", url=f"http://127.0.0.1:{self.port}/{state}")
        self.wait("document.querySelectorAll('#rows tr').length > 0")

    def wait(self, condition):
        end = time.monotonic() + 20
        while not self.browser.run(f"Boolean({condition})"):
            self.assertLess(time.monotonic(), end, f"{condition}: {self.browser.run('document.body.innerText')}")
            time.sleep(0.05)

    def table(self):
        return self.browser.run(TABLE)

    def expected(self, *options, scale="minmax"):
        out, _ = self.culmen("query", "table", *options, "--scale", scale, "--format", "json")
        return [hit["id"] for hit in json.loads(out)["queries"][0]["results"]]

    def set(self, element, value, event="input"):
        self.browser.run(
            f"{{ const one = document.querySelector({json.dumps(element)}); one.value = {json.dumps(value)};"
            f" one.dispatchEvent(new Event('{event}')); }}"
        )

    def shows(self, *options, scale="minmax"):
        expected = self.expected(*options, scale=scale)
        self.wait(f"JSON.stringify({TABLE}) === '{json.dumps(expected, separators=(',', ':'))}'")

    def test_every_control(self):
        self.shows("-w", "price=-0.5,rating=0.5")
        self.set("#slider-1", "1")
        self.shows("-w", "price=-0.5,rating=1")
        self.browser.run("document.querySelector('#slider-0').focus()")
        self.browser.key("ArrowRight", 39)
        self.shows("-w", "price=-0.49,rating=1")
        self.set("#where", "price > 300")
        self.shows("-w", "price=-0.49,rating=1", "--where", "price > 300")
        self.set('#filters select[aria-label="city"]', "<b>", "change")
        self.shows("-w", "price=-0.49,rating=1", "--where", "price > 300 and city = '<b>'")
        self.set('#filters input[aria-label="opened at least"]', "2024-01-20")
        self.shows("-w", "price=-0.49,rating=1", "--where", "price > 300 and city = '<b>' and opened >= '2024-01-20'")
        self.set("#k", "20", "change")
        where = "price > 300 and city = '<b>' and opened >= '2024-01-20'"
        self.shows("-w", "price=-0.49,rating=1", "-k", 20, "--where", where)
        self.set("#where", "price >")
        self.wait("document.querySelector('#problem').textContent.includes('expected')")
        self.set("#where", "price > 300")
        self.wait("document.querySelector('#problem').textContent === ''")
        self.assertEqual(self.browser.run("document.querySelectorAll('#rows b').length"), 0)  # texts are no HTML
        self.browser.run("document.querySelectorAll('#rows button')[0].click()")
        self.browser.run("document.querySelectorAll('#rows button')[2].click()")
        self.wait("document.querySelectorAll('#why .part').length === 4")
        before = self.table()
        time.sleep(0.5)  # the address follows a moment later
        self.load(self.browser.run("location.hash"))  # the address has everything
        self.assertEqual(self.table(), before)
        self.wait("document.querySelectorAll('#why .part').length === 4")
        for language, part in [
            ("python", "index.search({"),
            ("cpp", ".weights ="),
            ("curl", "/search"),
            ("shell", "-k 20"),
        ]:
            self.set("#language", language, "change")
            self.assertIn(part, self.browser.run("document.querySelector('#code').textContent"))
        self.browser.run("document.querySelector('#draw-map').click()")
        self.wait("document.querySelector('#map-text').textContent.includes('winners')")
        self.browser.run("document.querySelector('#reset').click()")
        self.wait("document.querySelector('#problem').textContent.includes('Move a slider')")
        self.assertEqual(self.browser.problems, [])

    def test_scale_gaps_pictures_and_buttons(self):
        self.set("#scale", "none", "change")
        self.shows("-w", "price=-0.5,rating=0.5", scale="none")
        self.set("#scale", "minmax", "change")
        self.set("#missing", "fill", "change")
        self.shows("-w", "price=-0.5,rating=0.5", "--missing", "fill")
        self.browser.run("document.querySelector('#surprise').click()")
        self.wait("document.querySelector('#slider-0').value !== '-0.5'")
        weights = self.browser.run("['#slider-0', '#slider-1'].map((one) => document.querySelector(one).value)")
        self.shows("-w", "price={},rating={}".format(*weights), "--missing", "fill")
        before = self.browser.run("document.querySelector('#plot').toDataURL()")
        self.set("#plot-x", "rating", "change")
        self.assertNotEqual(self.browser.run("document.querySelector('#plot').toDataURL()"), before)
        before = self.browser.run("document.querySelector('#plot').toDataURL()")
        self.browser.run("document.querySelectorAll('#rows button')[1].click()")
        self.assertNotEqual(self.browser.run("document.querySelector('#plot').toDataURL()"), before)
        self.set("#map-x", "rating", "change")
        self.browser.run("document.querySelector('#draw-map').click()")
        self.wait("document.querySelector('#map-text').textContent.includes('two different')")
        self.set("#map-y", "price", "change")
        self.browser.run("document.querySelector('#draw-map').click()")
        self.wait("document.querySelector('#map-text').textContent.includes('winners')")
        # The lower right corner: rating 1, price -1.
        self.browser.run(
            "{ const map = document.querySelector('#map'), box = map.getBoundingClientRect();"
            " map.dispatchEvent(new MouseEvent('click', {clientX: box.right - 2, clientY: box.bottom - 2})); }"
        )
        self.shows("-w", "price=-1,rating=1", "--missing", "fill")
        before = self.browser.run("getComputedStyle(document.body).backgroundColor")
        self.browser.run("document.querySelector('#theme').click()")
        self.assertNotEqual(self.browser.run("getComputedStyle(document.body).backgroundColor"), before)
        self.browser.run("document.querySelector('#copy').click()")
        self.wait("document.querySelector('#copied').textContent !== ''")
        self.set('#filters input[aria-label="rating at most"]', "3")
        self.shows("-w", "price=-1,rating=1", "--missing", "fill", "--where", "rating <= 3")
        self.assertEqual(self.browser.problems, [])

    def test_the_copied_command_line_gives_the_same_answer(self):
        self.load("#" + json.dumps({"weights": {"price": -0.25, "rating": 0.75}, "where": "city = 'Roma'", "k": 20}))
        self.shows("-w", "price=-0.25,rating=0.75", "-k", 20, "--where", "city = 'Roma'")
        command = self.browser.run("document.querySelector('#code').textContent").replace("'DIR'", "table")
        program = os.environ["CULMEN_PROGRAM"]
        done = subprocess.run(
            ["bash", "-c", command.replace("culmen", program, 1) + " --format json"],
            cwd=self.dir,
            capture_output=True,
            check=True,
        )
        self.assertEqual([hit["id"] for hit in json.loads(done.stdout)["queries"][0]["results"]], self.table())

    def test_survives_any_address(self):
        addresses = ["#x", "#%", "#{}", '#{"weights":5}', '#{"k":1e9,"weights":{"price":1}}']
        addresses += ['#{"weights":{"price":"a"},"filters":{"price":{"low":5}}}']
        addresses += ['#{"filters":{"city":null,"toString":{"low":"1"}}}']
        for state in addresses:
            self.browser.call("Page.navigate", url="about:blank")
            self.browser.call("Page.navigate", url=f"http://127.0.0.1:{self.port}/{state}")
            self.wait("document.querySelectorAll('#sliders input').length === 2")
        self.assertEqual(self.browser.problems, [])

    def test_names_and_layout(self):
        unnamed = """[...document.querySelectorAll('button, input, select, canvas, th')].filter((one) =>
            !(one.labels?.length || one.ariaLabel || one.textContent.trim() || one.closest('[hidden]'))).length"""
        self.assertEqual(self.browser.run(unnamed), 0)
        ids = self.browser.run("[...document.querySelectorAll('[id]')].map((one) => one.id)")
        self.assertEqual(len(ids), len(set(ids)))
        for width in (360, 820, 1440):
            for theme in ("light", "dark"):
                self.browser.show_as(width, theme)
                self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth - innerWidth"), 0)
                self.assertGreaterEqual(self.contrast("header p", "body"), 4.5)
                self.assertGreaterEqual(self.contrast("dt", "section"), 4.5)

    @unittest.skipUnless(AXE, "axe-core is not installed")
    def test_axe_finds_nothing(self):
        self.browser.run(pathlib.Path(AXE).read_text() + "; 0")
        self.browser.run("document.querySelectorAll('#rows button')[0].click()")
        self.browser.run("document.querySelectorAll('#rows button')[2].click()")
        self.wait("document.querySelectorAll('#why .part').length === 4")
        time.sleep(0.3)  # rows that appear are transparent at first
        for width in (360, 820, 1440):
            for theme in ("light", "dark"):
                self.browser.show_as(width, theme)
                found = self.browser.run(
                    "axe.run().then(({violations}) => violations.map((one) =>"
                    " `${one.id}: ${one.help}: ${one.nodes.map((node) => node.html).join(' ')}`))"
                )
                self.assertEqual(found, [], (width, theme))

    def contrast(self, text, ground):
        """The ratio of luminances of a text and what is behind it, as WCAG computes it."""
        style = "getComputedStyle(document.querySelector({}))".format
        colours = [
            self.browser.run(f"{style(json.dumps(text))}.color"),
            self.browser.run(f"{style(json.dumps(ground))}.backgroundColor"),
        ]
        lights = []
        for colour in colours:
            parts = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
            linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
            lights.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
        return (max(lights) + 0.05) / (min(lights) + 0.05)

    def test_a_moving_slider(self):
        result = self.browser.run(
            """new Promise((done) => {
              const slider = document.querySelector('#slider-1'), begin = performance.now();
              let answers = 0, longest = 0, last = begin, step = 0;
              new MutationObserver(() => ++answers).observe(document.querySelector('#time'), {childList: true});
              const frame = (now) => {
                longest = Math.max(longest, now - last);
                last = now;
                slider.value = ((++step * 7) % 200) / 100 - 1;
                slider.dispatchEvent(new Event('input'));
                if (now - begin < 2000) requestAnimationFrame(frame); else done({answers, longest});
              };
              requestAnimationFrame(frame);
            })"""
        )
        self.assertGreater(result["answers"], 5, result)  # a busy machine has few
        print(f"{result['answers'] / 2:.0f} answers/s, longest frame {result['longest']:.0f} ms", end=" ", flush=True)


if __name__ == "__main__":
    unittest.main()
