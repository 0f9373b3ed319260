"use strict";

/** Step numbers as badges: painted, and buttons over them that the keyboard and a finger reach. */
Object.assign(Swimlane.prototype, {
  badgeWidth(badge) {
    return Math.max(19, 9 + 6.6 * badge.label.length);
  },

  /** Where the badges go: those that would cover one another move aside. */
  settled() {
    const settled = [];
    const byPlace = [...this.spots].sort(([, a], [, b]) => a.y - b.y || a.x - b.x);
    for (const [badge, spot] of byPlace) {
      const wide = this.badgeWidth(badge);
      const apart = (other) => (other.wide + wide) / 2 + 4;
      let x = Math.min(Math.max(spot.x, this.gutter + wide / 2 + 1), this.width - wide / 2 - 1);
      const near = settled.filter((other) => Math.abs(other.y - spot.y) < 22);
      for (const other of near.sort((a, b) => a.x - b.x))
        if (Math.abs(other.x - x) < apart(other)) x = other.x + apart(other);
      if (x > this.width - wide / 2) for (const other of near.reverse()) x = Math.min(x, other.x - apart(other));
      settled.push({ badge, x, y: spot.y, wide, colour: spot.colour, seen: spot.x >= this.gutter - 8 && spot.x <= this.width + 8 });
    }
    return settled;
  },

  /** Decide where the badges go, before anything is written next to them. */
  placeBadges() {
    if (this.scene) for (const operation of this.actors) this.placeBadge(operation);
    this.settledMarks = this.settled().filter((mark) => mark.seen);
    for (const { x, y, wide } of this.settledMarks) this.take(x - wide / 2 - 3, x + wide / 2 + 3, y - 11, y + 11);
  },

  placeBadge(operation) {
    const { operations: ops } = this.data;
    const badge = this.badges.get(operation);
    const top = this.row.get(ops.lane[operation]);
    const extent = this.extent(ops.from[operation], ops.to[operation], 6);
    if (!badge || top === undefined || !extent) return;
    const [left, wide] = extent;
    const granted = this.isGrant(operation); // what counts is its end
    const inside = wide > this.badgeWidth(badge) + 6 && !granted;
    this.take(granted ? left + wide - 8 : left - 4, left + wide + 4, top + 25, top + 50);
    this.spots.set(badge, { x: granted ? left + wide : left + wide / 2, y: top + (inside || granted ? 38 : 30), colour: this.colourOf(operation) });
  },

  paintMarks() {
    const { pen, colours } = this;
    for (const { badge, x, y, wide, colour } of this.settledMarks) {
      const lit = badge.steps.some((step) => this.lit.has(step));
      pen.fillStyle = lit ? colours.link : colours.paper;
      pen.beginPath();
      pen.roundRect(x - wide / 2 - 1.5, y - 11, wide + 3, 22, 11);
      pen.fill();
      pen.fillStyle = colour;
      pen.beginPath();
      pen.roundRect(x - wide / 2, y - 9.5, wide, 19, 9.5);
      pen.fill();
      this.text(badge.label, x, y + 0.5, { colour: "paper", size: 11.5, weight: 700, align: "center" });
    }
  },

  /** Put a button over each badge that is in view. */
  placeMarks() {
    const { marks } = this.elements;
    const buttons = this.settledMarks.map((mark) => this.button(mark));
    for (const old of [...marks.children]) if (!buttons.includes(old)) old.remove();
    buttons.forEach((button, i) => marks.children[i] !== button && marks.insertBefore(button, marks.children[i] ?? null));
  },

  button({ badge, x, y, wide }) {
    this.buttons ??= new Map();
    let button = this.buttons.get(badge);
    if (!button) {
      button = Object.assign(document.createElement("button"), { type: "button", className: "mark" });
      button.dataset.steps = badge.steps.join(" ");
      button.onmouseenter = button.onfocus = () => this.point(badge);
      button.onblur = () => this.point(null);
      button.onmouseleave = () => {
        if (this.clicked !== badge) this.point(null);
        this.clicked = null; // the page may have scrolled to the step, away from the pointer
      };
      button.onclick = () => {
        this.clicked = badge;
        this.onChoose(badge.steps[0]);
        this.point(badge); // the step has the focus now; the details stay
      };
      this.buttons.set(badge, button);
    }
    button.setAttribute("aria-label", `Step ${badge.label}: ${this.details(badge).slice(0, 2).join(": ")}`);
    const size = Math.max(24, wide + 4);
    Object.assign(button.style, { left: `${x - size / 2}px`, top: `${y - 12}px`, width: `${size}px` });
    return button;
  },

  /** Point at what a badge is about; at nothing. */
  point(badge) {
    this.light(badge ? badge.steps : []);
    const mark = badge && this.settledMarks.find((mark) => mark.badge === badge);
    if (mark) this.showTip(badge, mark.x, mark.y);
    else this.hideTip();
  },

  /** Show which steps are pointed at, here and wherever else they are. */
  light(steps) {
    this.lit = new Set(steps);
    this.onLight(this.lit);
    this.draw();
  },

  /** Bring what a step is about into view. */
  reveal(step) {
    const { operations: ops, bands } = this.data;
    const about = this.scene?.badges.filter((badge) => badge.steps.includes(step)) ?? [];
    const moments = about.map((badge) => ("band" in badge ? bands[badge.band].from : ops.to[badge.operation]));
    const places = moments.map((moment) => this.scale.to(moment));
    if (places.some((place) => place < this.view.from || place > this.view.to)) this.toScene();
    this.light([step]);
  },
});
