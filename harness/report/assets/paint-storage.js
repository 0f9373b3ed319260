"use strict";

/** The storage's lane, and what the scene is about. */
Object.assign(Swimlane.prototype, {
  baseline(resource) {
    const top = this.shelves.get(resource);
    return top === undefined ? undefined : top + 36;
  },

  paintStorage() {
    const { accepted } = this.data;
    const { pen, colours } = this;
    for (const [resource] of this.shelves) {
      pen.fillStyle = colours.soft;
      pen.fillRect(this.gutter, this.baseline(resource) - 0.5, this.width, 1);
    }
    const [start, end] = [this.moment(this.gutter), this.moment(this.width)];
    const [marks, labels] = [new Map(), new Map()];
    for (let i = 0; i < accepted.at.length; i += 1) {
      const y = this.baseline(accepted.resource[i]);
      if (y === undefined || accepted.at[i] < start || accepted.at[i] > end) continue;
      const x = this.x(accepted.at[i]);
      const wrong = this.isWrongCommit(i);
      if (!wrong && x - (marks.get(y) ?? -9) < 1) continue;
      marks.set(y, x);
      this.diamond(x, y, wrong ? 7 : 5, wrong ? colours.stale : colours.commit);
      this.hits.push({ left: x - 6, right: x + 6, top: y - 9, bottom: y + 9, accepted: i });
      const words = accepted.token[i] === null ? "no token" : `token ${format.token(accepted.token[i])}`;
      const options = { align: "center", size: 12, colour: wrong ? "stale" : "soft", weight: wrong ? 700 : 400 };
      const half = this.wide(words, options.size, options.weight) / 2 + 4;
      const place = Math.min(Math.max(x, this.gutter + half), this.width - half);
      if (place - half > (labels.get(y) ?? 0)) {
        this.text(words, place, y + 18, options);
        labels.set(y, place + half);
      }
    }
    this.paintRefusals(start, end);
  },

  /** Of a write that was stored twice, the second place is the wrong one. */
  isWrongCommit(i) {
    if (this.unmatched.has(i)) return true;
    const operation = this.data.accepted.operation[i];
    if (operation < 0 || !(this.scene?.wrong ? this.accused : this.wrong).has(operation)) return false;
    const places = this.stored.get(operation);
    return places.length === 1 || places[0] !== i;
  },

  paintRefusals(start, end) {
    const { operations: ops } = this.data;
    let edge = -9;
    for (let i = this.first(start - this.longest); i < ops.from.length && ops.from[i] <= end; i += 1) {
      if (ops.outcome[i] !== OUTCOME.REJECTED || !this.isWrite[ops.kind[i]]) continue;
      const y = this.baseline(ops.resource[i]);
      const x = this.x(ops.to[i]);
      if (y === undefined || x < this.gutter || x - edge < 1) continue;
      edge = x;
      this.cross(x, y - 14, this.scene?.wrong && this.accused.has(i) ? "stale" : "refused");
      this.hits.push({ left: x - 7, right: x + 7, top: y - 22, bottom: y - 7, operation: i });
    }
  },

  diamond(x, y, size, colour, hollow = false) {
    const { pen } = this;
    pen.fillStyle = pen.strokeStyle = colour;
    pen.beginPath();
    pen.moveTo(x, y - size);
    pen.lineTo(x + size, y);
    pen.lineTo(x, y + size);
    pen.lineTo(x - size, y);
    pen.closePath();
    pen.lineWidth = 2;
    if (hollow) pen.stroke();
    else pen.fill();
  },

  ring(x, y, size = 12) {
    const { pen } = this;
    pen.strokeStyle = this.colours.stale;
    pen.lineWidth = 2;
    pen.beginPath();
    pen.arc(x, y, size, 0, 7);
    pen.stroke();
  },

  cross(x, y, colour) {
    const { pen } = this;
    pen.strokeStyle = this.colours[colour];
    pen.lineWidth = 3;
    pen.beginPath();
    pen.moveTo(x - 5, y - 5);
    pen.lineTo(x + 5, y + 5);
    pen.moveTo(x + 5, y - 5);
    pen.lineTo(x - 5, y + 5);
    pen.stroke();
  },

  /* What the scene is about */

  paintProof() {
    if (!this.scene) return;
    for (const operation of this.actors) this.paintActor(operation);
    const marks = [...this.scene.accused.map((i) => this.mark(i)).filter(Boolean), ...this.unmatchedMarks()];
    const others = this.scene.against.map((i) => this.mark(i)).filter(Boolean);
    if (this.scene.wrong) for (const mark of marks) this.ring(mark.x, mark.y);
    if (this.scene.wrong && marks.length === 1 && others.length === 1) this.arrow(others[0], marks[0]);
    if (this.verdict) this.label(...this.verdict);
  },

  /** Decide where it is said what is wrong with the accused: next to it, in a few words. */
  placeVerdict() {
    this.verdict = null;
    if (!this.scene) return;
    const [accused] = this.scene.accused;
    const mark = this.scene.accused.map((i) => this.mark(i)).find(Boolean) ?? this.unmatchedMarks()[0];
    const spot = mark ? { left: mark.x - 16, right: mark.x + 16, y: mark.y - 24 } : accused === undefined ? null : this.besideBar(accused);
    if (!spot || spot.right < this.gutter || spot.left > this.width) return;
    const wide = this.wide(this.scene.label, 13, 700) + 10;
    const [right, left] = [spot.right + wide < this.width, spot.left - wide > this.gutter];
    const sides = [...(right || !left ? ["left"] : []), ...(left ? ["right"] : [])];
    const places = [0, -20, 24].flatMap((shift) => sides.map((align) => ({ x: align === "left" ? spot.right : spot.left, y: spot.y + shift, align })));
    const { x, y, align } = this.uncovered(this.scene.label, places, { weight: 700 });
    const options = { colour: this.alarm, weight: 700, align };
    this.verdict = [this.scene.label, x, y, options];
    this.taken.push(this.patch(this.scene.label, x, y, options));
  },

  /** The stored writes of the scene that no client sent. */
  unmatchedMarks() {
    const y = this.baseline(this.scene.resource);
    return this.scene.unmatched.map((place) => ({ x: this.x(this.data.accepted.at[place]), y }));
  },

  /** The edges of an operation's bar, and of the badge on it. */
  besideBar(i) {
    const { operations: ops } = this.data;
    const top = this.row.get(ops.lane[i]);
    const extent = this.extent(ops.from[i], ops.to[i], 6);
    if (top === undefined || !extent) return null;
    const badge = this.badges.get(i);
    const half = badge && (this.isGrant(i) || extent[1] < this.badgeWidth(badge)) ? this.badgeWidth(badge) / 2 : 0;
    const [from, to] = [extent[0], extent[0] + extent[1]];
    const inner = this.isGrant(i) ? to : from;
    return { left: inner - half - 10, right: to + half + 10, y: top + 37 };
  },

  /** The mark of an operation in the storage's lane; a write that was never stored is drawn as missing. */
  mark(operation) {
    const { operations: ops, accepted } = this.data;
    if (!this.isWrite[ops.kind[operation]]) return null;
    const y = this.baseline(ops.resource[operation]);
    if (y === undefined) return null;
    const places = this.stored.get(operation);
    if (places) return { x: this.x(accepted.at[places[places.length - 1]]), y };
    if (ops.outcome[operation] === OUTCOME.REJECTED) return { x: this.x(ops.to[operation]), y: y - 14 };
    if (ops.outcome[operation] === OUTCOME.OK && this.accused.has(operation)) {
      const x = this.x(ops.to[operation]);
      this.diamond(x, y, 7, this.colours.stale, true);
      return { x, y };
    }
    return null;
  },

  paintActor(operation) {
    const { operations: ops } = this.data;
    const { pen, colours } = this;
    const top = this.row.get(ops.lane[operation]);
    const extent = this.extent(ops.from[operation], ops.to[operation], 6);
    if (top === undefined || !extent) return;
    const [left, wide] = extent;
    const granted = this.isGrant(operation); // what counts is its end
    const badge = this.badges.get(operation);
    const colour = this.colourOf(operation);
    this.thread(operation, left + wide / 2, top, colour);
    pen.strokeStyle = colour;
    pen.lineWidth = 2;
    if (granted) pen.strokeRect(left + wide - 5, top + 30, 7, 17);
    else pen.strokeRect(left - 3, top + 26, wide + 6, 23);
    if (badge?.steps.some((step) => this.lit.has(step))) {
      pen.strokeStyle = colours.link;
      pen.lineWidth = 3;
      pen.strokeRect(left - 6, top + 23, wide + 12, 29);
    }
  },

  colourOf(operation) {
    if (this.accused.has(operation)) return this.colours[this.alarm];
    return this.scene.wrong && this.against.has(operation) ? this.colours.stale : this.colours.ink;
  },

  /** A dotted line from an operation to what it did: its mark in the storage, or its lease. */
  thread(operation, x, top, colour) {
    const { operations: ops } = this.data;
    const { pen } = this;
    const mark = this.mark(operation);
    const lock = this.isGrant(operation) ? this.locks.get(ops.resource[operation]) : undefined;
    if (!mark && lock === undefined) return;
    pen.strokeStyle = colour;
    pen.lineWidth = 1.5;
    pen.setLineDash([2, 3]);
    pen.beginPath();
    if (mark) {
      pen.moveTo(x, top + 50);
      pen.lineTo(mark.x, mark.y - 9);
    } else {
      const end = this.x(ops.to[operation]);
      pen.moveTo(end, top + 28);
      pen.lineTo(end, lock + 4 + SIZES.leases);
    }
    pen.stroke();
    pen.setLineDash([]);
  },

  arrow(from, to) {
    const { pen, colours } = this;
    const away = Math.abs(to.x - from.x);
    if (away < 26) return; // too close for it to say anything
    const [x0, x1] = [from.x, to.x > from.x ? to.x - 11 : to.x + 11];
    const [y, way] = [to.y - 9, to.x > from.x ? 1 : -1];
    pen.strokeStyle = pen.fillStyle = colours.stale;
    pen.lineWidth = 2;
    pen.beginPath();
    pen.moveTo(x0, from.y - 7);
    pen.quadraticCurveTo((x0 + x1) / 2, from.y - 20, x1 - 4 * way, y - 3);
    pen.stroke();
    pen.beginPath();
    pen.moveTo(x1 + 2 * way, y + 2);
    pen.lineTo(x1 - 9 * way, y - 0.5);
    pen.lineTo(x1 - 4 * way, y - 9);
    pen.fill();
  },
});
