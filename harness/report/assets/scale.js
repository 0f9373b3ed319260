"use strict";

/**
 * The layout of time: linear between its knots. Long quiet stretches of a scene get
 * less space, so that two seconds of waiting and the two milliseconds that matter are
 * visible together.
 */
class Scale {
  constructor(knots = [], shorten = false) {
    this.knots = shorten ? knots : [];
    const [first, last] = [knots[0], knots[knots.length - 1]];
    const gaps = this.knots.slice(1).map((knot, i) => knot - this.knots[i]);
    const inner = (i) => i > 0 && i < gaps.length - 1;
    const weights = gaps.map((gap, i) => Math.min(0.7 + Math.log1p(gap / 300), inner(i) ? Infinity : 2));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    let at = first;
    this.places = this.knots.map((_, i) => (i === 0 ? first : (at += (weights[i - 1] / total) * (last - first))));
  }

  to(moment) {
    return Scale.between(this.knots, this.places, moment);
  }

  from(place) {
    return Scale.between(this.places, this.knots, place);
  }

  static between(from, to, value) {
    const last = from.length - 1;
    if (last < 1 || value <= from[0] || value >= from[last]) return value;
    let [low, high] = [0, last];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (from[middle] <= value) low = middle;
      else high = middle;
    }
    return to[low] + ((value - from[low]) / (from[high] - from[low])) * (to[high] - to[low]);
  }
}
