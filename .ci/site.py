"""Checks the site: public names have their place, links lead somewhere, nothing is fetched, no page is too wide.

python .ci/site.py site [--browser chromium | --no-browser]

Pages are opened in a headless Chromium, if there is one, at two widths; there the search is tried too. Links to other
sites are only read, since a build must not need the network.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import threading
import zlib
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from json import dumps, loads
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
WIDTHS = (1200, 400)
SECONDS = 300
LOADED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src")}


class Page(HTMLParser):
    """What a page offers to links, and where its own lead."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[tuple[str, bool]] = []  # and whether the browser fetches it by itself
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {name for name in (given.get("id"), given.get("name")) if name}
        for key in ("href", "src"):
            if given.get(key):
                fetched = (tag, key) in LOADED or (tag == "link" and "stylesheet" in (given.get("rel") or ""))
                self.links.append((given[key], fetched))


def pages_of(site: Path) -> list[Path]:
    """The pages; folders that begin with an underline hold what they use."""
    return [path for path in sorted(site.rglob("*.html")) if not path.relative_to(site).parts[0].startswith("_")]


def missing_names(site: Path) -> list[str]:
    """Public names that the inventory of the site does not have."""
    sys.path.insert(0, str(ROOT / "docs" / "_ext"))
    import reference

    inventory = (site / "objects.inv").read_bytes().split(b"\n", 4)[4]
    known = {line.split(" ", 1)[0] for line in zlib.decompress(inventory).decode().splitlines() if " py:" in line}
    return [
        f"{package}.{name} is public, but has no place in the reference"
        for package, places in reference.addresses().items()
        for name, place in places.items()
        if place not in known
    ]


def broken_links(site: Path) -> list[str]:
    """Links of all pages that lead nowhere."""
    pages = {path: Page(path.read_text("utf-8")) for path in pages_of(site)}
    faults = []
    for path, page in pages.items():
        for link, fetched in page.links:
            fault = broken(site, path, link, fetched, pages)
            if fault:
                faults.append(f"{path.relative_to(site)}: {link}: {fault}")
    return sorted(set(faults))


def broken(site: Path, path: Path, link: str, fetched: bool, pages: dict[Path, Page]) -> str:
    """What is wrong with a link; nothing if it is right."""
    parts = urlsplit(link)
    if parts.scheme == "data" or parts.scheme == "mailto":
        return ""
    if parts.scheme or parts.netloc:
        if fetched:
            return "the site must not fetch anything from elsewhere"
        return "" if parts.scheme in ("http", "https") and "." in parts.netloc else "this is no address"
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.is_file() or not target.is_relative_to(site):
        return "there is no such file"
    anchor = unquote(parts.fragment)
    if anchor and target in pages and anchor not in pages[target].anchors:
        return "there is no such place on that page"
    return ""


HARNESS = """<!doctype html><title>check</title><body><script>
const pages = PAGES, widths = WIDTHS, faults = [];
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
async function open(url, width) {
  const frame = document.createElement("iframe");
  frame.style.cssText = `width:${width}px;height:900px;border:0`;
  frame.src = url;
  document.body.append(frame);
  await new Promise((done) => frame.addEventListener("load", done));
  return frame;
}
async function measure(page, width) {
  const frame = await open(page, width), root = frame.contentDocument.documentElement;
  // The theme lets its article scroll by itself, so the page alone says little; tables and code have their own boxes.
  const wide = [root, ...root.querySelectorAll("main, .bd-article-container, article, article section")].filter(
    (box) => box.scrollWidth > box.clientWidth + 1);
  if (wide.length || root.scrollWidth > width) {
    const edge = Math.min(width, wide.at(-1).getBoundingClientRect().right) + 1;
    const over = [...root.querySelectorAll("article *")].filter((e) => e.getBoundingClientRect().right > edge);
    const named = over.slice(0, 3).map((e) => `${e.tagName}.${e.className}`).join(", ");
    faults.push(`${page} is too wide for a window of ${width} pixels: ${named}`);
  }
  frame.remove();
}
async function search(word, wanted) {
  const frame = await open(`/search.html?q=${word}`, 1200);
  for (let i = 0; i < 200; i++) {
    const found = [...frame.contentDocument.querySelectorAll("#search-results a")].map((a) => a.href);
    if (found.some((href) => href.includes(wanted))) return;
    await wait(50);
  }
  faults.push(`a search for ${word} does not find ${wanted}`);
}
async function all() {
  await search("SparsePCA", "orthoprox.SparsePCA.html");
  const queue = pages.flatMap((page) => widths.map((width) => [page, width]));
  await Promise.all([1, 2, 3, 4].map(async () => { while (queue.length) await measure(...queue.pop()); }));
}
all().catch((error) => faults.push(String(error))).then(() =>
  fetch("/done", {method: "POST", body: JSON.stringify(faults)}));
</script>"""


class Handler(SimpleHTTPRequestHandler):
    """The site, the page that measures it at /check, and its answer at /done."""

    protocol_version = "HTTP/1.1"  # one connection for many files
    harness = ""
    faults: list[str] | None = None
    ended = threading.Event()

    def do_GET(self) -> None:
        if self.path != "/check":
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(self.harness.encode())))
        self.end_headers()
        self.wfile.write(self.harness.encode())

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "max-age=600")  # every page has the same styles and scripts
        super().end_headers()

    def do_POST(self) -> None:
        type(self).faults = loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()
        self.ended.set()

    def log_message(self, *_: object) -> None:
        pass


def seen_faults(site: Path, browser: str) -> list[str]:
    """What a browser finds: pages that scroll sideways, and whether the search works."""
    pages = [f"/{path.relative_to(site).as_posix()}" for path in pages_of(site)]
    Handler.harness = HARNESS.replace("PAGES", dumps(pages)).replace("WIDTHS", dumps(WIDTHS))
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        address = f"http://127.0.0.1:{server.server_port}/check"
        command = [browser, *FLAGS, f"--user-data-dir={folder}", "--remote-debugging-port=0", address]
        window = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            Handler.ended.wait(SECONDS)
        finally:
            window.terminate()
            window.wait()
            server.shutdown()
    if Handler.faults is None:
        return [f"{browser} did not answer within {SECONDS} s"]
    print(f"{len(pages)} pages were opened at widths of {' and '.join(map(str, WIDTHS))} pixels.")
    return Handler.faults


def main() -> int:
    """Print what is wrong; 1 if anything is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", type=Path)
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    parser.add_argument("--browser", default=found, help="a Chromium; without one pages are not opened")
    parser.add_argument("--no-browser", action="store_const", const=None, dest="browser")
    given = parser.parse_args()
    site = given.site.resolve()
    faults = missing_names(site) + broken_links(site)
    if given.browser:
        faults += seen_faults(site, given.browser)
    else:
        print("No browser: widths and search were not tried.")
    for fault in faults:
        print(fault)
    print(f"{len(faults)} faults in {len(pages_of(site))} pages.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
