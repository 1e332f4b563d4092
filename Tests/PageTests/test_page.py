"""The admin page in a real browser: what is shown, what the keyboard reaches, what a purge does.

    python3 test_page.py SERVER-BINARY [--screenshots DIR [--minutes N]] [TEST ...]

With --screenshots the pictures for the README are made instead, after N minutes of traffic.
"""

import argparse
import contextlib
import math
import os
import re
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
import landscapes  # noqa: E402
from chromium import Chromium, find_chromium  # noqa: E402
from origin import Origin  # noqa: E402
from service import Service, free_port, token  # noqa: E402

binary = None


def fill(origin, service, count=24, images=True):
    """Asks for pictures, some of them twice, and for thumbnails of some."""
    for number, name in enumerate(list(origin.pictures)[:count]):
        service.get(f"/gallery/{name}", service.data)
        if number % 2:
            service.get(f"/gallery/{name}", service.data)
        if images and number % 5 == 0:
            service.get(f"/image/w=160,h=120,fit=cover/gallery/{name}", service.data)


class Page(unittest.TestCase):
    """One server and one browser for all tests; each begins with a freshly loaded page."""

    @classmethod
    def setUpClass(cls):
        cls.resources = contextlib.ExitStack()
        cls.origin = Origin()
        cls.resources.callback(cls.origin.close)
        cls.service = Service(binary, cls.origin.url)
        cls.resources.callback(cls.service.close)
        cls.browser = Chromium()
        cls.resources.callback(cls.browser.close)
        fill(cls.origin, cls.service)

    @classmethod
    def tearDownClass(cls):
        cls.resources.close()

    def setUp(self):
        browser = self.browser
        browser.window(1280, 900)
        browser.media(prefers_color_scheme="light", prefers_reduced_motion="no-preference")
        browser.open(self.service.admin + "/")
        browser.value("localStorage.clear()")
        browser.wait("document.querySelectorAll('.entry').length > 0")
        browser.wait("document.getElementById('state').textContent.startsWith('ready')")

    def tearDown(self):
        self.assertEqual(self.browser.console, [], "the console is not empty")

    def text(self, identity):
        return self.browser.value(f"document.getElementById('{identity}').textContent")

    def focused(self):
        return self.browser.value("document.activeElement.id || document.activeElement.className.baseVal || document.activeElement.className")

    def names(self):
        return self.browser.value("[...document.querySelectorAll('.entry .file')].map((e) => e.textContent)")

    # Content

    def test_figures_are_those_of_the_server(self):
        summary = self.service.json("/api/summary")
        self.assertGreater(summary["totals"]["requests"], 0)
        self.browser.wait(f"document.getElementById('figure-requests').textContent.trim() >= '{summary['totals']['requests']}'")
        self.assertIn("%", self.text("figure-ratio"))
        self.assertIn("sent", self.text("note-saved"))
        self.assertEqual(self.text("origin"), self.origin.url)
        self.assertIn("entries", self.text("store"))

    def test_the_most_requested_and_the_slowest_are_listed(self):
        name = f"asked-{time.time_ns()}.jpg?token=abc"
        for _ in range(2):
            self.service.get("/gallery/" + name, self.service.data)
        for part in ("most-requested", "slowest"):
            self.browser.wait(f"document.getElementById('{part}').textContent.includes('/gallery/')", 20)
        self.assertNotIn("abc", self.text("most-requested"))

    def test_errors_are_shown_by_their_kind(self):
        name = f"missing-{time.time_ns()}.jpg"
        self.assertEqual(self.service.get("/gallery/" + name, self.service.data)[0], 404)
        self.browser.wait("/ of requests; 4xx: [1-9]/.test(document.getElementById('note-errors').textContent)")
        self.assertEqual(self.text("figure-errors"), "0")
        for part in ("errors", "failing"):
            self.browser.wait(f"document.getElementById('{part}').textContent.includes('{name}')", 20)
        self.assertRegex(self.text("errors"), r"the origin's response · id [0-9a-f]{16}")
        shown = f"[...document.querySelectorAll('.entry')].find((e) => e.textContent.includes('{name}'))"
        self.browser.wait(f"{shown}?.querySelector('.fresh').textContent.startsWith('Status 404. ')")

    def test_charts_are_drawn_and_read_by_keyboard(self):
        browser = self.browser
        browser.wait("document.querySelectorAll('.plot path.line').length >= 4")
        browser.value("document.querySelector('.plot').focus()")
        browser.press("ArrowLeft")
        first = browser.value("document.activeElement.getAttribute('aria-valuetext')")
        self.assertRegex(first, r"^\d\d:\d\d:\d\d: hits .*/s, misses .*/s")
        browser.press("ArrowLeft")
        self.assertNotEqual(first, browser.value("document.activeElement.getAttribute('aria-valuetext')"))
        self.assertEqual(browser.value("document.querySelectorAll('.plot .cursor[visibility=visible]').length"), 4)
        browser.press("Escape")
        self.assertEqual(browser.value("document.querySelectorAll('.plot .cursor[visibility=visible]').length"), 0)
        browser.click("#span button:last-child")
        browser.wait("document.querySelector('#span [aria-checked=true]').textContent === '24 h'")
        browser.press("ArrowLeft")
        browser.wait("document.querySelector('#span [aria-checked=true]').textContent === '10 min'")

    def test_a_transfer_is_watched_cut_and_resumed(self):
        self.origin.cuts = 1
        path = f"/large-{time.time_ns()}.iso"
        answers = []
        thread = threading.Thread(target=lambda: answers.append(self.service.get(path, self.service.data)))
        thread.start()
        browser = self.browser
        browser.wait(f"document.getElementById('transfers').textContent.includes('{path}')")
        bar = "document.querySelector('#transfers [role=progressbar]')"
        browser.wait(f"{bar} && Number({bar}.getAttribute('aria-valuenow')) > 0")
        first = int(browser.value(f"{bar}.getAttribute('aria-valuenow')"))
        browser.wait(f"{bar} && Number({bar}.getAttribute('aria-valuenow')) > {first}")
        browser.wait("document.getElementById('transfers').textContent.includes('resumed at')", 30)
        browser.wait("document.getElementById('transfers').textContent.includes('No transfers')", 40)
        thread.join()
        self.assertEqual((answers[0][0], len(answers[0][2])), (200, self.origin.size))
        browser.wait(f"[...document.querySelectorAll('.entry .file')].some((e) => e.textContent === '{path[1:]}')")

    def test_every_picture_is_shown_and_text_stays_text(self):
        browser = self.browser
        name = "<img src=x onerror=alert(1)>"
        self.service.get("/gallery/" + list(self.origin.pictures)[0] + "?" + urllib.parse.quote(name), self.service.data)
        browser.wait("[...document.querySelectorAll('.entry .file')].some((e) => e.textContent.includes('onerror'))")
        self.assertEqual(browser.value("document.querySelectorAll('.entry .file img, .entry .where img').length"), 0)
        browser.wait("[...document.querySelectorAll('.entry img')].filter((i) => i.complete && i.naturalWidth > 0).length >= 6")
        words = browser.value("[...document.querySelectorAll('.entry .fresh')].map((e) => e.textContent)")
        lives = [re.sub(r"^Status \d+\. ", "", word) for word in words]
        self.assertTrue(all(word.startswith(("Fresh for", "Stale for", "Validated")) for word in lives), words)
        self.assertTrue(any(word.startswith("Fresh for") for word in words))

    def test_what_is_wrong_is_said_first(self):
        dead = f"http://127.0.0.1:{free_port()}"
        service = Service(binary, dead, "--isolate-decoders", "off", "--breaker-failures", "3")
        try:
            for number in range(4):
                service.get(f"/broken-{number}.jpg", service.data)
            browser = self.browser
            for width in (400, 1400):
                browser.window(width, 900)
                browser.open(service.admin + "/")
                browser.wait("document.querySelectorAll('#problems li').length === 2")
                self.assertRegex(self.text("problems"), r"^ErrorThe origin .* has failed.*WarningImages are decoded")
                self.assertRegex(self.text("state"), "^ready, 2 problems, up ")
                self.assertEqual(browser.value("document.getElementById('dot').dataset.state"), "away")
                browser.wait("document.querySelector('#origins .row.bad') !== null")
                self.assertIn("left alone", self.text("origins"))
                browser.wait("document.querySelector('#errors .bad') !== null", 20)
                self.assertRegex(self.text("errors"), r"broken-\d\.jpg.*id [0-9a-f]{16}")
                self.assertEqual(browser.value("document.documentElement.scrollWidth"), width)
                top = "document.getElementById('problems').getBoundingClientRect().bottom"
                self.assertLess(browser.value(top), 900)
        finally:
            service.close()

    def test_figures_link_to_their_metrics(self):
        links = self.browser.value("[...document.querySelectorAll('a.metric')].map((a) => a.getAttribute('href'))")
        self.assertGreater(len(links), 15)
        for link in set(links):
            status, _, body = self.service.get("/" + link)
            name = link.partition("=")[2]
            self.assertEqual(status, 200)
            # A histogram has lines once there is a value.
            if body:
                self.assertIn(f"# TYPE {name} ".encode(), body)

    def test_images_are_shown_with_their_formats_and_workers(self):
        self.browser.wait("document.getElementById('images').textContent.includes('in worker processes')")
        self.assertIn("JPEG", self.text("kinds"))

    def test_entries_are_filtered_and_sorted(self):
        browser = self.browser
        choose = "(() => {{ const s = document.getElementById('{}'); s.value = '{}'; s.dispatchEvent(new Event('change')); }})()"
        everything = len(self.names())
        browser.value(choose.format("kind", "images"))
        browser.wait(f"document.querySelectorAll('.entry').length < {everything}")
        wheres = browser.value("[...document.querySelectorAll('.entry .where')].map((e) => e.textContent)")
        self.assertTrue(all("fit" in where for where in wheres), wheres)
        browser.value(choose.format("kind", "files"))
        browser.value(choose.format("sort", "largest"))
        sizes = "[...document.querySelectorAll('.entry .where')].map((e) => e.textContent.split(',')[0])"
        largest = self.service.json("/api/entries?kind=files&sort=largest&limit=1")["entries"][0]["size"]
        browser.wait(f"{sizes}.length > 1 && !{sizes}[0].includes(' B')")
        self.assertGreaterEqual(largest, max(e["size"] for e in self.service.json("/api/entries?kind=files")["entries"]))

    def test_the_settings_in_force_are_shown(self):
        self.browser.click("#settings summary")
        self.browser.wait("document.getElementById('settings-list').textContent.includes('max-requests')")
        self.assertNotIn(token, self.text("settings-list"))

    # The keyboard alone

    def test_an_entry_is_found_and_purged_by_keyboard(self):
        browser = self.browser
        name = list(self.origin.pictures)[3]
        self.service.get(f"/keys/{name}", self.service.data)
        asked = len(self.origin.requests)
        browser.press("/")
        self.assertEqual(self.focused(), "search")
        browser.type(f"KEYS {name[:5]}")
        browser.wait("document.querySelectorAll('.entry').length === 1")
        self.assertIn("with", self.text("gallery-note"))
        browser.press("ArrowDown")
        self.assertEqual(self.focused(), "open")
        # Details, and back.
        browser.press("Enter")
        browser.wait("document.getElementById('details').open")
        self.assertIn(f"/keys/{name}", self.text("details-list"))
        browser.press("Escape")
        browser.wait("!document.getElementById('details').open")
        self.assertEqual(self.focused(), "open")
        # A wrong token, then the right one.
        browser.press("Delete")
        browser.wait("document.getElementById('purge').open")
        self.assertEqual(self.focused(), "purge-token")
        browser.type("wrong")
        browser.press("Enter")
        browser.wait("document.getElementById('purge-wrong').textContent !== ''")
        self.assertIn("is wrong", self.text("purge-wrong"))
        # A browser notes a refusal by itself.
        self.assertEqual([line for line in browser.console if "403" not in line], [])
        browser.console.clear()
        self.assertEqual(self.focused(), "purge-token")
        browser.value("document.getElementById('purge-token').select()")
        browser.type(token)
        browser.press("Enter")
        browser.wait("!document.getElementById('purge').open")
        browser.wait("document.querySelectorAll('.entry').length === 0")
        self.assertIn("Purged 1 entry", self.text("toast"))
        # THEN the origin is asked again.
        self.service.get(f"/keys/{name}", self.service.data)
        self.assertEqual(len(self.origin.requests), asked + 1)
        # The token is known now: the next purge asks for none.
        browser.wait("document.querySelectorAll('.entry').length === 1")
        browser.press("ArrowDown")
        browser.press("Delete")
        browser.wait("document.getElementById('purge').open")
        self.assertTrue(browser.value("document.getElementById('purge-token-field').hidden"))
        browser.press("Escape")
        browser.wait("!document.getElementById('purge').open")
        self.assertEqual(self.focused(), "open")

    def test_many_are_purged_by_their_beginning(self):
        browser = self.browser
        for name in list(self.origin.pictures)[:3]:
            self.service.get(f"/many/{name}", self.service.data)
        browser.press("/")
        browser.type("/many/")
        browser.wait("document.querySelectorAll('.entry').length === 3")
        browser.click("#purge-many")
        browser.click("input[value=prefix]")
        browser.value("document.getElementById('purge-target').focus()")
        browser.type(self.origin.url + "/many/")
        browser.value("document.getElementById('purge-token').focus()")
        browser.type(token)
        browser.press("Enter")
        browser.wait("!document.getElementById('purge').open")
        self.assertIn("Purged 3 entries", self.text("toast"))
        browser.wait("document.querySelectorAll('.entry').length === 0")

    def test_the_grid_is_walked_with_arrows(self):
        browser = self.browser
        browser.press("/")
        browser.press("ArrowDown")
        index = "[...document.querySelectorAll('.entry')].indexOf(document.activeElement.closest('.entry'))"
        columns = browser.value("getComputedStyle(document.getElementById('entries')).gridTemplateColumns.split(' ').length")
        seen = []
        for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp", "End", "Home"):
            browser.press(key)
            seen.append(browser.value(index))
        last = browser.value("document.querySelectorAll('.entry').length") - 1
        self.assertEqual(seen, [1, 2, 1, 1 + columns, 1, last, 0])
        # Its purge button comes after it, and the entry after that is not in the way.
        browser.press("Tab")
        self.assertEqual(self.focused(), "drop danger")
        browser.press("Tab")
        self.assertNotIn(self.focused(), ("open", "drop danger"))
        browser.press("Tab", shift=True)
        browser.press("Tab", shift=True)
        browser.press("ArrowUp")
        self.assertEqual(self.focused(), "search")

    def test_every_control_is_reached_and_its_focus_seen(self):
        browser = self.browser
        reached = []
        browser.value("document.body.tabIndex = -1, document.body.focus(), document.body.removeAttribute('tabindex')")
        for _ in range(70):
            browser.press("Tab")
            reached.append(self.focused())
            if reached[-1] == "drop danger":
                break
            self.assertNotEqual(
                browser.value("(() => { const s = getComputedStyle(document.activeElement); return s.outlineStyle; })()"),
                "none", f"{reached[-1]} shows no focus")
        self.assertEqual(reached[:2], ["skip", "theme"])
        for control in ("metric", "plot", "kind", "sort", "search", "purge-many", "open", "drop danger"):
            self.assertIn(control, reached)
        self.assertEqual(reached.count("plot"), 4)

    # Appearance

    def test_both_themes_and_the_toggle(self):
        browser = self.browser
        ground = "getComputedStyle(document.body).backgroundColor"
        light = browser.value(ground)
        browser.media(prefers_color_scheme="dark")
        dark = browser.value(ground)
        self.assertNotEqual(light, dark)
        # Auto, light, dark, and it is remembered.
        browser.click("#theme")
        self.assertEqual(browser.value(ground), light)
        browser.click("#theme")
        self.assertEqual(browser.value(ground), dark)
        browser.media(prefers_color_scheme="light")
        browser.open(self.service.admin + "/")
        self.assertEqual(browser.value(ground), dark)
        self.assertEqual(self.text("theme"), "Dark")

    def test_text_stands_out_from_its_ground_in_both_themes(self):
        script = """(() => {
          const parts = (color) => color.match(/[\\d.]+/g).slice(0, 3).map(Number);
          const light = (color) => parts(color).map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
            .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
          const ground = light(getComputedStyle(document.body).backgroundColor);
          return ['h2', '.note', '.figures dt', '.where', '#theme', '.key', '.rows .title', '#origins .good'].map((selector) => {
            const ink = light(getComputedStyle(document.querySelector(selector)).color);
            return (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
          });
        })()"""
        for theme in ("light", "dark"):
            self.browser.media(prefers_color_scheme=theme, prefers_reduced_motion="reduce")
            for ratio in self.browser.value(script):
                self.assertGreaterEqual(ratio, 4.5, theme)

    def test_a_narrow_window_scrolls_in_one_direction_only(self):
        browser = self.browser
        for width in (360, 400, 600, 900, 1400):
            browser.window(width, 700)
            browser.wait("document.querySelectorAll('.plot path').length > 0")
            time.sleep(0.2)
            self.assertEqual(browser.value("document.documentElement.scrollWidth"), width)
            browser.value("document.querySelector('.entry .open').click()")
            browser.wait("document.getElementById('details').open")
            self.assertLessEqual(browser.value("document.getElementById('details').getBoundingClientRect().right"), width)
            browser.press("Escape")

    def test_nothing_moves_for_who_wants_no_motion(self):
        browser = self.browser
        browser.media(prefers_reduced_motion="reduce")
        moving = browser.value(
            "[...document.querySelectorAll('*')].filter((e) => { const s = getComputedStyle(e);"
            " return s.transitionDuration.split(', ').some((d) => d !== '0s') || s.animationName !== 'none'; }).length")
        self.assertEqual(moving, 0)

    # Restrictions of browsers

    def test_nothing_is_fetched_from_elsewhere(self):
        urls = self.browser.value("performance.getEntriesByType('resource').map((e) => e.name)")
        self.assertTrue(urls)
        self.assertTrue(all(url.startswith(self.service.admin) for url in urls), urls)
        policy = self.service.get("/")[1]["Content-Security-Policy"]
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe", policy)


def screenshots(folder, minutes):
    """The pictures of the README: a service that has been in use for a while."""
    os.makedirs(folder, exist_ok=True)
    with contextlib.ExitStack() as stack:
        folder_of_pictures = stack.enter_context(tempfile.TemporaryDirectory())
        with Chromium() as browser:
            painted = landscapes.paint(browser, folder_of_pictures)
        origin = Origin(painted)
        origin.freshness = ["max-age=86400", "max-age=120, stale-while-revalidate=3600", "max-age=3600", "max-age=11520"]
        stack.callback(origin.close)
        # Little room, so that something is evicted.
        service = Service(binary, origin.url, "--capacity", "36MiB")
        stack.callback(service.close)
        fill(origin, service)
        ended = threading.Event()
        names = list(origin.pictures)

        def ask(number):
            step = 0
            while not ended.is_set():
                step += 1
                # Mostly what is known, now and then something new, and a tide.
                turn = step * (number + 3)
                fresh = f"?v={turn}" if turn % 23 == 0 else ""
                with contextlib.suppress(OSError):
                    service.get(f"/gallery/{names[turn % min(24, len(names))]}{fresh}", service.data)
                time.sleep(0.02 + 0.05 * (1 + math.sin(time.monotonic() / 40 + number)))

        stack.callback(ended.set)
        for number in range(4):
            threading.Thread(target=ask, args=(number,), daemon=True).start()
        time.sleep(max(0, minutes * 60 - 5))
        origin.cuts = 1
        threading.Thread(target=service.get, args=("/large.iso", service.data), daemon=True).start()
        with Chromium() as browser:
            browser.window(1280, 1400)
            browser.open(service.admin + "/")
            browser.wait("document.getElementById('transfers').textContent.includes('resumed at')", 40)
            time.sleep(1.5)
            # Nothing new comes any more, so that both pictures show one moment, and no colour is half way to another.
            browser.value("window.fetch = () => new Promise(() => {}), 0")
            browser.wait("[...document.querySelectorAll('.entry img')].slice(0, 12).every((i) => i.complete)")
            for theme in ("light", "dark"):
                browser.media(prefers_color_scheme=theme, prefers_reduced_motion="reduce")
                time.sleep(0.5)
                browser.screenshot(os.path.join(folder, f"admin-page-{theme}.png"))
            print("console:", browser.console)


def main():
    global binary
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--screenshots")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("tests", nargs="*")
    options = parser.parse_args()
    binary = os.path.abspath(options.binary)
    if not find_chromium():
        sys.exit("no Chromium found")
    if options.screenshots:
        return screenshots(options.screenshots, options.minutes)
    unittest.main(argv=[sys.argv[0], "-v", *(f"Page.{test}" for test in options.tests)])


if __name__ == "__main__":
    main()
