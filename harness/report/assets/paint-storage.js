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
      this.take(x - 8, x + 8, y - 8, y + 8);
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
      this.take(x - 8, x + 8, y - 22, y - 6);
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
    this.take(x - size - 1, x + size + 1, y - size - 1, y + size + 1);
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
    for (const thread of this.threads) this.paintThread(thread);
    const marks = [...this.scene.accused.map((i) => this.mark(i)).filter(Boolean), ...this.unmatchedMarks()];
    const others = this.scene.against.map((i) => this.mark(i)).filter(Boolean);
    for (const mark of marks) if (mark.missing) this.diamond(mark.x, mark.y, 7, this.colours.stale, true);
    if (this.scene.wrong) for (const mark of marks) this.ring(mark.x, mark.y);
    if (this.scene.wrong && marks.length === 1 && others.length === 1) this.arrow(others[0], marks[0]);
  },

  /** The stored writes of the scene that no client sent. */
  unmatchedMarks() {
    const y = this.baseline(this.scene.resource);
    return this.scene.unmatched.map((place) => ({ x: this.x(this.data.accepted.at[place]), y }));
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
    if (ops.outcome[operation] === OUTCOME.OK && this.accused.has(operation)) return { x: this.x(ops.to[operation]), y, missing: true };
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

  /** The dotted lines from the operations to what they did: to their marks in the storage, or to their leases. */
  takeThreads() {
    this.threads = this.scene ? this.actors.map((operation) => this.thread(operation)).filter(Boolean) : [];
    for (const { x0, y0, x1, y1 } of this.threads) {
      const pieces = x0 === x1 ? 1 : Math.ceil(Math.abs(y1 - y0) / 6);
      const [across, down] = [(x1 - x0) / pieces, (y1 - y0) / pieces];
      for (let i = 0; i < pieces; i += 1) {
        const [x, y] = [x0 + i * across, y0 + i * down];
        this.take(Math.min(x, x + across) - 2, Math.max(x, x + across) + 2, Math.min(y, y + down), Math.max(y, y + down));
      }
    }
  },

  thread(operation) {
    const { operations: ops } = this.data;
    const top = this.row.get(ops.lane[operation]);
    const extent = this.extent(ops.from[operation], ops.to[operation], 6);
    if (top === undefined || !extent) return null;
    const mark = this.mark(operation);
    if (mark) return { operation, x0: extent[0] + extent[1] / 2, y0: top + 50, x1: mark.x, y1: mark.y - 9 };
    const lock = this.isGrant(operation) ? this.locks.get(ops.resource[operation]) : undefined;
    const end = this.x(ops.to[operation]);
    return lock === undefined ? null : { operation, x0: end, y0: top + 28, x1: end, y1: lock + 4 + SIZES.leases };
  },

  paintThread({ operation, x0, y0, x1, y1 }) {
    const { pen } = this;
    pen.strokeStyle = this.colourOf(operation);
    pen.lineWidth = 1.5;
    pen.setLineDash([2, 3]);
    pen.beginPath();
    pen.moveTo(x0, y0);
    pen.lineTo(x1, y1);
    pen.stroke();
    pen.setLineDash([]);
  },

  arrow(from, to) {
    const { pen, colours } = this;
    const away = Math.abs(to.x - from.x);
    if (away < 26) return; // too close for it to say anything
    const [x0, x1] = [from.x, to.x > from.x ? to.x - 11 : to.x + 11];
    const [y, way] = [to.y - 9, to.x > from.x ? 1 : -1];
    this.take(Math.min(x0, x1), Math.max(x0, x1), from.y - 17, from.y);
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
