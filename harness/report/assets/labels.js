"use strict";

/** Labels: beside what they are about, and on nothing else that is drawn. */
Object.assign(Swimlane.prototype, {
  /** Remember what is drawn somewhere: no words go there. */
  take(left, right, top, bottom) {
    this.taken.push({ left, right, top, bottom });
  },

  takeWords(words, x, y, options) {
    const { left, right, top, bottom } = this.patch(words, x, y, options);
    this.take(left, right, top, bottom);
  },

  /** The stretches of a line of words in which nothing is drawn. */
  gaps(y, from, to) {
    const inTheWay = this.taken.filter(({ left, right, top, bottom }) => left < to && right > from && top < y + 7 && bottom > y - 7);
    const gaps = [];
    let start = from;
    for (const { left, right } of [...inTheWay.sort((a, b) => a.left - b.left), { left: to, right: to }]) {
      if (left > start) gaps.push([start, left]);
      start = Math.max(start, right);
    }
    return gaps;
  },

  /** Room for the first of several wordings that fits on one of some lines, as near as can be to one of some middles; null if there is none. */
  room({ ways, lines, from, to, near = null, size, weight }) {
    for (const words of ways) {
      const half = this.wide(words, size, weight) / 2 + 4;
      if (2 * half > to - from) continue;
      const spots = lines.flatMap((y) => this.gaps(y, from, to).filter(([start, end]) => end - start >= 2 * half).flatMap(([start, end]) => {
        if (near === null) return [{ words, x: (start + end) / 2, y, cost: start - end }];
        return near.map((middle) => ({ middle, x: Math.min(Math.max(middle, start + half), end - half) }))
          .map(({ middle, x }) => ({ words, x, y, cost: Math.abs(x - middle) + 2 * Math.abs(y - lines[0]) }));
      }));
      if (spots.length) return spots.reduce((best, spot) => (spot.cost < best.cost ? spot : best));
    }
    return null;
  },

  /** Write words where they begin, or where there is room after that. */
  writeFrom(ways, x, y, to, options) {
    const narrow = Math.min(...ways.map((words) => this.wide(words, options.size, options.weight)));
    if (narrow > to - x) return;
    const found = this.room({ ways, lines: [y], from: x - 4, to: to + 4, near: [x], ...options });
    if (!found) return;
    this.text(found.words, found.x, y, { ...options, align: "center" });
    this.takeWords(found.words, found.x, y, { ...options, align: "center" });
  },

  paintLabels() {
    this.paintVerdict();
    for (const caption of this.captions) this.paintCaption(caption);
  },

  /** What a fault or a wrong stretch is. */
  paintCaption({ ways, lines, lane, from, to, near, colour }) {
    const options = { size: 12, weight: 600 };
    if (Math.min(...ways.map((words) => this.wide(words, 12, 600))) + 8 > to - from) return; // it is too short for words
    const found = this.room({ ways, lines, from, to, near, ...options });
    if (found) this.paintLabel(found, { ...options, colour });
    else if (lane != null) this.cramped.add(lane);
  },

  /** What is wrong with the accused, next to it, in a few words. */
  paintVerdict() {
    const about = this.scene && this.accusedSpot();
    if (!about || about.right < this.gutter || about.left > this.width) return;
    const { label } = this.scene;
    const options = { size: 13, weight: 700 };
    const half = this.wide(label, 13, 700) / 2 + 4;
    const near = [about.right + half, about.left - half];
    const found = this.room({ ways: [label], lines: about.lines, from: this.gutter + 2, to: this.width - 2, near, ...options });
    if (found) this.paintLabel(found, { ...options, colour: this.alarm });
    else this.cramped.add(this.roomy.has(about.lane) ? STORAGE : about.lane); // no thread crosses the storage's line
  },

  paintLabel({ words, x, y }, options) {
    this.label(words, x, y, { ...options, align: "center" });
    this.takeWords(words, x, y, { ...options, align: "center" });
  },

  /** Where the accused is, and the lines on which something can be written about it. */
  accusedSpot() {
    const { accused } = this.scene;
    const marks = accused.length ? accused.map((i) => this.mark(i)) : this.unmatchedMarks();
    const mark = marks.find(Boolean);
    if (!mark) return accused.length ? this.besideBar(accused[0]) : null;
    return { left: mark.x - 14, right: mark.x + 14, lane: STORAGE, lines: [this.baseline(this.scene.resource) - 25, ...this.storageLine()] };
  },

  /** The edges of an operation's bar, and of the badge on it. */
  besideBar(i) {
    const { operations: ops } = this.data;
    const lane = ops.lane[i];
    const top = this.row.get(lane);
    const extent = this.extent(ops.from[i], ops.to[i], 6);
    if (top === undefined || !extent) return null;
    const badge = this.badges.get(i);
    const half = badge && (this.isGrant(i) || extent[1] < this.badgeWidth(badge)) ? this.badgeWidth(badge) / 2 : 0;
    const [from, to] = [extent[0], extent[0] + extent[1]];
    const inner = this.isGrant(i) ? to : from;
    return { left: inner - half - 6, right: to + half + 6, lane, lines: [...this.laneLines(lane, top), ...this.storageLine()] };
  },

  /** The lines of a client's lane on which something can be written: between the bars, between the leases, below. */
  laneLines(lane, top) {
    return [top + 38, top + 12, ...this.extraLine(lane, top + SIZES.lane)];
  },

  storageLine() {
    const top = this.shelves.get(this.scene.resource);
    return top === undefined ? [] : this.extraLine(STORAGE, top + SIZES.store);
  },

  /** The line for words in a lane that has one because nothing else had room. */
  extraLine(lane, top) {
    return this.roomy.has(lane) ? [top + SIZES.words / 2 - 1] : [];
  },

  words(lane) {
    return this.roomy.has(lane) ? SIZES.words : 0;
  },
});
