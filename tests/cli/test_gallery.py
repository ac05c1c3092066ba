#!/usr/bin/env python3
"""The page of the gallery is sound, and pictures are made from its commands."""

import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from program import PROGRAM, SOURCE, Case, main, write  # noqa: E402

TOOL = os.path.join(SOURCE, "tools", "gallery")
PAGE = """# Gallery

<a href="#one"><img src="one.png" width="32%%"></a>

### One

![one](one.png)

```
kelpie run %(scene)s -o out/one
kelpie render out/one --frames 1 --preview
```

### Two and three

<img src="two.png"> <img src="three.png">

```
kelpie run %(scene)s -o out/two --frames :2
kelpie render out/two --frames 0 --preview
kelpie render out/two --frames 2 --preview
```

### Wrong

![four](four.png)

```
kelpie run nowhere.lua -o out/four
kelpie render out/four --frames 1 --preview
```
"""


def bytes_of(path):
    with open(path, "rb") as file:
        return file.read()


class Gallery(Case):
    def tool(self, *words, status=0):
        done = subprocess.run([sys.executable, TOOL, *words], cwd=self.folder, capture_output=True,
                              text=True, timeout=100, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_the_page(self):
        self.assertRegex(self.tool("--check"), r"(?<!\d)\d{2,} pictures, \d{2,} blocks of commands, 0 wrong")

    def small_page(self):
        write(PAGE % {"scene": self.small_scene(2)}, self.folder, "page.md")
        return ["--page", self.path("page.md"), "--program", PROGRAM, "--into", self.path("made")]

    def test_pictures(self):
        page = self.small_page()
        said = self.tool("one", "two", *page, "--work", self.path("work"))
        self.assertRegex(said, r"1 of 2: one: \d+ s, \d+ KB, 480 x 270")
        self.assertEqual(sorted(os.listdir(self.path("made"))), ["one.png", "three.png", "two.png"])
        self.call("run", "small.lua", "-o", "out")
        self.call("render", "out", "--preview", "--no-video")
        for name, frame in (("one", 1), ("two", 0), ("three", 2)):
            self.assertEqual(bytes_of(self.path("made", name + ".png")),
                             bytes_of(self.path("out/images/frame_%06d.png" % frame)), name)
        # the runs are there: only the render is done again
        before = os.stat(self.path("work/one/one/frames/frame_000001.kpf")).st_mtime_ns
        self.tool("one", *page, "--work", self.path("work"), "--render-only", "--set", "--size 100x60")
        self.assertEqual(os.stat(self.path("work/one/one/frames/frame_000001.kpf")).st_mtime_ns, before)
        self.assertNotEqual(bytes_of(self.path("made/one.png")), bytes_of(self.path("out/images/frame_000001.png")))

    def test_trouble(self):
        page = self.small_page()
        said = self.tool("four", "one", *page, status=1)
        self.assertIn("four: failed: kelpie: ", said)
        self.assertEqual(os.listdir(self.path("made")), ["one.png"])  # the others go on
        self.assertIn("no picture is called five", self.tool("five", *page, status=1))
        self.assertIn("three.png is on the page and not in the folder", self.tool("--check", *page, status=1))


if __name__ == "__main__":
    main()
