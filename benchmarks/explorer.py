"""The page in a browser without a graphics card: size, time until it can be used, and frames while the map moves.

    python benchmarks/explorer.py [--rows 100000 1000000] [--repeats 3] [--backend cpu] [--max-mb 25]

A map of ten clusters with 16 features, reasons and arrows for every row is written as one file and opened from disk in
headless Chromium (1200 x 800, ``--disable-gpu``). "ready" is the time from the start of the navigation until the page
answers; frames are the times between two of 120 animation frames while the map is moved by a script, after every
column that is shown has been unpacked, and "cpu" is the processor time of the page's main thread for each of them,
which hardly depends on what else the machine does; "full draw" is one draw of all points at rest; "lasso" is the time
from the end of a lasso of 120 corners until its points are selected and everything beside the map knows. The prototype
is the sketch that the page was designed from, measured on the same kind of machine (2 cores, no graphics card): it had
no budget, and its million points are drawn with fewer points while the map moves, as the page's are. Every figure is
the median of the repeats. What the budget left out is printed, as it is on the page.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from importlib import resources
from pathlib import Path

import numpy as np

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
SOFTWARE_GL = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-first-run"]
N_FEATURES = 16
#: Of the prototype: MB, s to ready, ms of a frame while panning (median, 95 %, …), of a full draw, of a lasso
PROTOTYPE = {
    100_000: ("7.1", "0.53", "17", "22 to 27", "", "", "2 to 7", "2 to 24"),
    1_000_000: ("75", "2.1 to 2.4", "20 to 25", "49 to 58", "", "", "63 to 136", "16 to 270"),
}
#: MB, s to ready, ms of a frame while panning (median), kB of script
TARGETS = {100_000: (25.0, 1.0, 25.0)}
BUNDLE_KB = 120.0

PAN = """async () => {
    const { map } = manifolia;
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    const gaps = [];
    const drawn = [];
    for (let i = 0; i < 40; i++) await frame();
    let before = await frame();
    for (let i = 0; i < 120; i++) {
        const turn = (i / 120) * 2 * Math.PI;
        map.show(map.camera.panned(9 * Math.cos(turn), 9 * Math.sin(turn)));
        const now = await frame();
        gaps.push(now - before);
        drawn.push(map.drawn);
        before = now;
    }
    return { gaps: gaps.slice(5), fewest: Math.min(...drawn) };
}"""
FULL = """async () => {
    await new Promise((done) => setTimeout(done, 500));
    const started = performance.now();
    manifolia.map.drawNow();
    return performance.now() - started;
}"""


LASSO = """() => {
    globalThis.lasso = { started: 0, took: 0, n: 0 };
    addEventListener("pointerup", () => (lasso.started = performance.now()), true);
    manifolia.store.on(["selection"], ({ selection }) => {
        lasso.took = performance.now() - lasso.started;
        lasso.n = selection?.length ?? 0;
    });
    manifolia.store.set({ mode: "lasso" });
}"""


def make_payload(n, max_mb):
    from manifolia.explorer import build_payload
    from manifolia.explorer.parts.part import Part

    rng = np.random.default_rng(0)
    label = rng.integers(0, 10, n)
    angle = label * 0.62
    Y = rng.normal(size=(n, 2)) * [1.0, 0.4] + np.c_[np.cos(angle), np.sin(angle)] * (3 + label[:, None] / 3)
    features = [f"feature {i}" for i in range(N_FEATURES)]
    columns = {"label": np.array([f"class {i}" for i in range(10)])[label]}
    for i, name in enumerate(features):
        columns[name] = (Y[:, i % 2] * (1 + i) + rng.normal(size=n)).astype(np.float32)
    k = 8
    ranked = np.argsort(rng.random((n, N_FEATURES)), axis=1)[:, :k]
    reasons = Part(
        "reasons",
        {
            "features": features,
            "k": k,
            "kind": "gradient",
            "scale": 1.0,
            "arrow_scale": 1.0,
            "title": "Why it is here",
            "note": "Made up.",
        },
        rows={
            "feature": ranked.astype(np.uint16),
            "weight": np.sort(rng.integers(1, 255, (n, k)), axis=1)[:, ::-1].astype(np.uint8),
            "sign": rng.integers(-1, 2, (n, k)).astype(np.int8),
            "dx": rng.integers(-127, 128, (n, k)).astype(np.int8),
            "dy": rng.integers(-127, 128, (n, k)).astype(np.int8),
        },
        sources=features,
    )
    shape = (N_FEATURES, 40, 40)
    arrows = Part(
        "arrows",
        {
            "features": features,
            "nx": 40,
            "ny": 40,
            "box": [*Y.min(axis=0).tolist(), *Y.max(axis=0).tolist()],
            "scale": [1.0] * N_FEATURES,
            "note": "Made up.",
        },
        fixed={
            "dx": rng.integers(-127, 128, shape).astype(np.int8),
            "dy": rng.integers(-127, 128, shape).astype(np.int8),
            "weight": np.full((40, 40), 255, dtype=np.uint8),
        },
        sources=features,
    )
    return build_payload(Y, columns, title=f"{n:,} rows", parts=[reasons, arrows], max_mb=max_mb)


def busy(meter):
    """Seconds of processor time that the page's main thread has used."""
    metrics = {item["name"]: item["value"] for item in meter.send("Performance.getMetrics")["metrics"]}
    return metrics["TaskDuration"]


def measure(browser, path, query):
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    page.goto(path.as_uri() + query)
    page.wait_for_selector("html[data-ready]", timeout=120_000)
    ready = float(page.get_attribute("html", "data-ready")) / 1000
    time.sleep(1.5)  # what is unpacked after the first picture
    # Times of the thread's own clock do not grow when others use the processor.
    meter = page.context.new_cdp_session(page)
    meter.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = busy(meter)
    moved = page.evaluate(PAN)
    cpu = (busy(meter) - before) / 120 * 1000
    full = page.evaluate(FULL)
    page.evaluate("() => manifolia.showArrows(0)")
    time.sleep(0.5)
    with_arrows = page.evaluate(PAN)
    page.evaluate(LASSO)
    for i in range(121):
        turn = 2 * np.pi * i / 120
        page.mouse.move(540 + 180 * np.cos(turn), 420 + 180 * np.sin(turn))
        if i == 0:
            page.mouse.down()
    page.mouse.up()
    lasso = page.evaluate("() => lasso")
    renderer = page.get_attribute(".map", "data-renderer")
    page.close()
    return {
        "ready": ready,
        "median": float(np.median(moved["gaps"])),
        "p95": float(np.quantile(moved["gaps"], 0.95)),
        "cpu": cpu,
        "full": full,
        "fewest": moved["fewest"],
        "arrows": float(np.median(with_arrows["gaps"])),
        "lasso": lasso["took"],
        "chosen": lasso["n"],
        "renderer": renderer,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--backend", choices=["cpu", "webgl2"], default="cpu", help="webgl2 runs on software here")
    parser.add_argument("--max-mb", type=float, default=25.0)
    parser.add_argument("--json", help="also write the figures to this file")
    options = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None:
        sys.exit("benchmarks/explorer.py needs playwright (extra 'test') and a chromium on the path.")
    static = resources.files("manifolia.explorer").joinpath("static")
    script = len(static.joinpath("explorer.js").read_bytes()) / 1000
    style = len(static.joinpath("explorer.css").read_bytes()) / 1000
    print(f"script {script:.1f} kB, style {style:.1f} kB; target: script below {BUNDLE_KB:.0f} kB")
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f} before the first run")
    rows = []
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        for n in options.rows:
            from manifolia.explorer import write_page

            payload = make_payload(n, options.max_mb)
            path = write_page(payload, Path(folder) / "page.html")
            runs = []
            for _ in range(options.repeats):
                flags = SOFTWARE_GL if options.backend == "webgl2" else FLAGS
                browser = playwright.chromium.launch(executable_path=chromium, args=flags)
                runs.append(measure(browser, path, f"?backend={options.backend}"))
                browser.close()
            figures = {key: float(np.median([run[key] for run in runs])) for key in runs[0] if key != "renderer"}
            rows.append({"n": n, "mb": path.stat().st_size / 1e6, "renderer": runs[0]["renderer"], **figures})
            rows[-1]["left_out"] = list(payload.left_out)
    report(rows, options.repeats)
    if options.json:
        Path(options.json).write_text(json.dumps({"script_kb": script, "style_kb": style, "rows": rows}, indent=1))


def report(rows, repeats):
    print(f"\nmedian of {repeats} runs; frames in ms while the map moves")
    head = [
        "rows",
        "",
        "page MB",
        "ready s",
        "frame",
        "95 %",
        "cpu",
        "with arrows",
        "full draw",
        "lasso",
        "fewest points",
    ]
    table = [head]
    for row in rows:
        n = row["n"]
        figures = [f"{row['mb']:.1f}", f"{row['ready']:.2f}", f"{row['median']:.1f}", f"{row['p95']:.1f}"]
        more = [
            f"{row['cpu']:.1f}",
            f"{row['arrows']:.1f}",
            f"{row['full']:.1f}",
            f"{row['lasso']:.0f}",
            f"{row['fewest']:,.0f}",
        ]
        table.append([f"{n:,}", row["renderer"], *figures, *more])
        if n in PROTOTYPE:
            table.append(["", "prototype", *PROTOTYPE[n], ""])
        if n in TARGETS:
            mb, ready, frame = TARGETS[n]
            lost = [
                name
                for name, value, limit in (
                    ("page", row["mb"], mb),
                    ("ready", row["ready"], ready),
                    ("frame", row["median"], frame),
                )
                if value > limit
            ]
            verdict = "missed: " + ", ".join(lost) if lost else "met"
            table.append(["", "target", f"{mb:g}", f"{ready:g}", f"{frame:g}", *[""] * 5, verdict])
    widths = [max(len(line[i]) for line in table) for i in range(len(head))]
    for line in table:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))
    for row in rows:
        for text in row["left_out"]:
            print(f"{row['n']:,} rows: {text}")


if __name__ == "__main__":
    main()
