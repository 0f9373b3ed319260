"use strict";

/** Time: the axis above the lanes, and the whole run in one strip below them. */
Object.assign(Swimlane.prototype, {
  paintAxis() {
    const { pen, colours } = this;
    pen.fillStyle = colours.paper;
    pen.fillRect(0, 0, this.width, SIZES.axis);
    pen.fillStyle = colours.rule;
    pen.fillRect(0, SIZES.axis - 1, this.width, 1);
    this.text("time", this.width < 560 ? 8 : 16, SIZES.axis / 2, { colour: "soft", size: 13 });
    if (this.scale.knots.length > 1) this.paintStretches();
    else this.paintTicks();
  },

  /** Evenly spaced moments. */
  paintTicks() {
    const { pen, colours } = this;
    const wanted = ((this.view.to - this.view.from) * 110) / (this.width - this.gutter);
    const power = 10 ** Math.floor(Math.log10(wanted));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= wanted);
    for (let tick = Math.ceil(this.view.from / step) * step; tick <= this.view.to; tick += step) {
      const x = this.x(tick);
      if (tick < 0 || x < this.gutter) continue;
      pen.fillStyle = colours.rule;
      pen.fillRect(x, SIZES.axis - 9, 1, 9);
      if (x > this.gutter + 24) this.text(format.moment(tick, step), x, SIZES.axis - 22, { colour: "soft", align: "center", size: 12.5 });
    }
  },

  /** How long each stretch between two of a scene's moments lasted. */
  paintStretches() {
    const { pen, colours } = this;
    const { knots } = this.scale;
    const xs = knots.map((knot) => this.x(knot));
    const pace = (knots[knots.length - 1] - knots[0]) / (xs[xs.length - 1] - xs[0]);
    knots.forEach((knot, i) => {
      if (xs[i] >= this.gutter) {
        pen.fillStyle = colours.rule;
        pen.fillRect(xs[i], SIZES.axis - 16, 1, 16);
      }
      if (i === 0) return;
      const [left, right] = [Math.max(xs[i - 1], this.gutter), Math.min(xs[i], this.width)];
      const [gap, room] = [knot - knots[i - 1], right - left];
      if (room < 30) return;
      const shortened = gap / (xs[i] - xs[i - 1]) > 1.6 * pace;
      const wide = this.text(format.duration(gap), (left + right) / 2, SIZES.axis - 10, { align: "center", size: 12, room: room - 6, colour: shortened ? "ink" : "soft", weight: shortened ? 600 : 400 });
      if (shortened && wide && room > wide + 50) for (const side of [-1, 1]) this.zigzag((left + right) / 2 + side * (wide / 2 + 14), SIZES.axis - 10);
    });
    this.paintMoments(xs);
  },

  /** The smallest distance between two moments of this run that must look different. */
  fineness() {
    return this.data.length > 1e6 ? 1000 : Math.max(1e-3, this.data.length / 10_000);
  },

  paintMoments(xs) {
    const { knots } = this.scale;
    let edge = this.gutter;
    knots.forEach((knot, i) => {
      const words = format.moment(knot, this.fineness());
      const half = words.length * 3.6;
      const x = Math.min(Math.max(xs[i], this.gutter + half + 4), this.width - half - 4);
      if (xs[i] < this.gutter - 1 || xs[i] > this.width + 1 || x - half < edge + 6) return;
      this.text(words, x, 13, { colour: "soft", align: "center", size: 12 });
      edge = x + half;
    });
  },

  zigzag(x, y) {
    const { pen } = this;
    pen.strokeStyle = this.colours.soft;
    pen.lineWidth = 1.5;
    pen.beginPath();
    for (const shift of [-3, 3]) {
      pen.moveTo(x + shift - 3, y + 6);
      pen.lineTo(x + shift + 3, y - 6);
    }
    pen.stroke();
  },

  paintCurrent() {
    const hit = this.hits.find((hit) => hit.operation === this.current);
    if (this.current < 0 || !hit) return;
    this.pen.strokeStyle = this.colours.link;
    this.pen.lineWidth = 3;
    this.pen.strokeRect(hit.left - 4, hit.top - 1, hit.right - hit.left + 8, hit.bottom - hit.top + 2);
  },

  /** The whole run in one strip: writes, faults, scenes, and what is in view. */
  paintMap() {
    const { map } = this.elements;
    const [width, height] = [this.width, 30];
    const pen = sharpen(map, width, height);
    const { colours } = this;
    const x = (moment) => this.gutter + (moment / Math.max(1, this.data.length)) * (width - this.gutter);
    pen.fillStyle = colours.panel;
    pen.fillRect(0, 0, width, height);
    for (const band of this.data.bands) {
      pen.fillStyle = band.kind === "pause" ? colours["pause-wash"] : colours["cut-wash"];
      pen.fillRect(x(band.from), 0, Math.max(1, x(band.to ?? this.data.length) - x(band.from)), height);
    }
    const most = Math.max(1, ...this.density);
    pen.fillStyle = colours.wait;
    this.density.forEach((count, i) => {
      const high = (count / most) * 16;
      pen.fillRect(this.gutter + (i / 600) * (width - this.gutter), height - high, (width - this.gutter) / 600 + 0.3, high);
    });
    for (const scene of this.data.scenes) {
      const operation = scene.accused[0] ?? scene.proof[0];
      pen.fillStyle = scene.wrong ? colours.stale : colours.refused;
      pen.fillRect(x(operation === undefined ? scene.from : this.data.operations.to[operation]) - 1, 6, 2.5, height - 6);
    }
    const [from, to] = [this.moment(this.gutter), this.moment(this.width)];
    const [left, right] = [Math.max(this.gutter, x(from)), Math.min(width, x(to))];
    pen.strokeStyle = colours.ink;
    pen.lineWidth = 2;
    pen.strokeRect(left, 1, Math.max(4, right - left) - 1, height - 2);
    pen.font = "12.5px system-ui, sans-serif";
    pen.fillStyle = colours.soft;
    pen.textBaseline = "middle";
    pen.fillText("whole run", this.width < 560 ? 8 : 16, height / 2);
  },
});
