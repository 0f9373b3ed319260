"""What a report's drawing is made of, and where: as a browser painted it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from playwright.sync_api import Page

RECORD = """window.painted = [];
{
  const INKS = ["write", "read", "wait", "release", "stale", "refused", "belief", "commit", "pause", "cut"];
  const pen = CanvasRenderingContext2D.prototype;
  const original = {};
  const after = (name, note) => {
    original[name] = pen[name];
    pen[name] = function (...given) {
      if (this.canvas.id === "lanes") note.apply(this, given);
      return original[name].apply(this, given);
    };
  };
  const note = (kind, words, left, right, top, bottom) => window.painted.push([kind, words, left, right, top, bottom]);
  const isInk = (colour) => {
    const style = getComputedStyle(document.documentElement);
    return INKS.some((ink) => style.getPropertyValue(`--${ink}`).trim() === colour);
  };
  let [path, round] = [[], false];
  const line = (x0, y0, x1, y1) => {
    const pieces = Math.max(1, Math.ceil(Math.hypot(x1 - x0, y1 - y0) / 3));
    for (let i = 0; i <= pieces; i += 1) {
      const [x, y] = [x0 + ((x1 - x0) * i) / pieces, y0 + ((y1 - y0) * i) / pieces];
      note("mark", "line", x - 0.5, x + 0.5, y - 0.5, y + 0.5);
    }
  };
  const along = (points) => points.slice(1).forEach(([x, y], i) => line(...points[i], x, y));
  const curve = ([x0, y0], x1, y1, x2, y2) => Array.from({ length: 17 }, (_, i) => {
    const [a, b, c] = [(1 - i / 16) ** 2, 2 * (1 - i / 16) * (i / 16), (i / 16) ** 2];
    return [a * x0 + b * x1 + c * x2, a * y0 + b * y1 + c * y2];
  });
  after("fillText", function (words, x, y) {
    const wide = this.measureText(words).width;
    const left = this.textAlign === "center" ? x - wide / 2 : this.textAlign === "right" ? x - wide : x;
    const high = parseFloat(/([\\d.]+)px/.exec(this.font)[1]) * 0.72;
    note("words", words, left, left + wide, y - high / 2, y + high / 2);
  });
  after("fillRect", function (x, y, wide, high) {
    const { width, height } = this.canvas;
    if (x === 0 && y === 0 && wide * devicePixelRatio >= width - 1 && high * devicePixelRatio >= height - 1) window.painted = [];
    if (isInk(this.fillStyle)) note("mark", "bar", x, x + wide, y, y + high);
  });
  after("strokeRect", (x, y, wide, high) => along([[x, y], [x + wide, y], [x + wide, y + high], [x, y + high], [x, y]]));
  after("beginPath", () => ([path, round] = [[], false]));
  after("moveTo", (x, y) => path.push([[x, y]]));
  after("lineTo", (x, y) => path.at(-1).push([x, y]));
  after("quadraticCurveTo", (...to) => path.at(-1).push(...curve(path.at(-1).at(-1), ...to)));
  after("arc", (x, y, size) => path.push(Array.from({ length: 25 }, (_, i) => [x + size * Math.cos((i * Math.PI) / 12), y + size * Math.sin((i * Math.PI) / 12)])));
  after("roundRect", function (x, y, wide, high) {
    round = true;
    note("words", "step number", x, x + wide, y, y + high);
  });
  after("stroke", () => path.forEach(along));
  after("fill", () => round || path.forEach((points) => along([...points, points[0]])));
}"""
STEP_NUMBER = "step number"


@dataclass(frozen=True)
class Patch:
    """What is painted, and where: in pixels."""

    kind: str
    words: str
    left: float
    right: float
    top: float
    bottom: float

    def covers(self, other: Patch) -> bool:
        return (
            self.left + 1 < other.right
            and other.left + 1 < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )

    def is_within(self, outer: Patch) -> bool:
        return (
            outer.left <= self.left
            and self.right <= outer.right
            and outer.top <= self.top
            and self.bottom <= outer.bottom
        )


def painted(page: Page) -> list[Patch]:
    """Everything of the last painting; a badge without its border and its number."""
    patches = [Patch(*each) for each in page.evaluate("window.painted")]
    badges = [each for each in patches if each.words == STEP_NUMBER]
    inside = {each for each in patches if any(each.is_within(badge) for badge in badges if badge != each)}
    return [each for each in dict.fromkeys(patches) if each not in inside]


def right_of(patches: list[Patch], edge: float) -> list[Patch]:
    """What of it is seen beside the names of the lanes."""
    seen = (replace(each, left=max(each.left, edge)) for each in patches)
    return [each for each in seen if each.left < each.right]
