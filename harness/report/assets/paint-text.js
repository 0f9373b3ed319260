"use strict";

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif';

/** A name, and then ever shorter ends of it: the names of a run often begin alike. */
function endings(name) {
  const letters = [...name];
  return letters.map((_, cut) => (cut ? `…${letters.slice(cut).join("")}` : name));
}

/** Words in the drawing. */
Object.assign(Swimlane.prototype, {
  text(words, x, y, { colour = "ink", size = 13, weight = 400, align = "left", room = Infinity } = {}) {
    const { pen } = this;
    pen.font = `${weight} ${size}px ${FONT}`;
    pen.fillStyle = this.colours[colour];
    pen.textAlign = align;
    pen.textBaseline = "middle";
    const wide = pen.measureText(words).width;
    if (wide > room) return 0;
    pen.fillText(words, x, y);
    return wide;
  },

  wide(words, size, weight) {
    this.pen.font = `${weight} ${size}px ${FONT}`;
    return this.pen.measureText(words).width;
  },

  /** Write the first of several wordings that fits, and return it. */
  fit(ways, x, y, options) {
    return ways.find((words) => this.text(words, x, y, options) > 0);
  },

  /** The background rectangle of a label, kept within the drawing. */
  patch(words, x, y, { size = 13, weight = 400, align = "left" } = {}) {
    const wide = this.wide(words, size, weight);
    const left = align === "left" ? x : align === "right" ? x - wide : x - wide / 2;
    const start = Math.min(Math.max(left, this.gutter + 6), this.width - wide - 6);
    return { left: start - 4, right: start + wide + 4, top: y - size * 0.72, bottom: y + size * 0.72 };
  },

  /** Words on a background, so that they stay legible. */
  label(words, x, y, options = {}) {
    const { pen } = this;
    const { left, right, top, bottom } = this.patch(words, x, y, options);
    pen.fillStyle = this.colours.paper;
    pen.globalAlpha = 0.88;
    pen.fillRect(left, top, right - left, bottom - top);
    pen.globalAlpha = 1;
    this.text(words, left + 4, y, { ...options, align: "left" });
  },

  paintGutter() {
    const { pen, colours } = this;
    pen.fillStyle = colours.paper;
    pen.fillRect(0, 0, this.gutter, this.height);
    pen.fillStyle = colours.panel;
    pen.fillRect(0, this.below, this.gutter, this.height - this.below);
    pen.fillStyle = colours.rule;
    pen.fillRect(this.gutter - 1, 0, 1, this.height);
    for (const top of this.tops) pen.fillRect(0, top, this.gutter, 1);
    const narrow = this.width < 560;
    const [inset, small] = narrow ? [6, 12] : [14, 13.5];
    const room = this.gutter - inset - 4;
    for (const [resource, top] of this.locks) {
      const name = this.data.resources[resource];
      const ways = name === "lock" ? ["lock"] : endings(name).map((words) => `lock ${words}`);
      this.fit(ways, inset, top + 4 + SIZES.leases / 2, { weight: 700, size: small, room });
    }
    for (const [lane, top] of this.row) {
      const plays = this.scene?.lanes.includes(lane);
      this.fit(endings(this.data.lanes[lane]), inset, top + SIZES.lane / 2, { weight: plays ? 700 : 400, size: small, room });
    }
    for (const [resource, top] of this.shelves) {
      this.text("storage", inset, top + 24, { weight: 700, size: small });
      this.fit(endings(this.data.resources[resource]), inset, top + 40, { colour: "soft", size: small - 1, room });
    }
    for (const [server, top] of this.racks) {
      const name = this.data.servers[server];
      this.fit([name, ...endings(name.slice(name.indexOf(":") + 1))], inset, top + SIZES.server / 2, { size: small - 0.5, room });
    }
  },
});
