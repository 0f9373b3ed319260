"use strict";

const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];

/** The inks of the lines, in the page's scheme. */
function inks(colours) {
  return [colours.write, colours.stale, colours.cut, colours.pause, colours.belief, colours.ink];
}

/** Columns on one x axis, as uPlot wants them. */
function columnsOf(lines, place) {
  const xs = [...new Set(lines.flatMap((line) => line.points.map(([x]) => place(x))))].sort((a, b) => a - b);
  return [xs, ...lines.map((line) => {
    const known = new Map(line.points.map(([x, y]) => [place(x), y]));
    return xs.map((x) => known.get(x) ?? null);
  })];
}

/** Percentiles are drawn by their nines, so that the tail is as wide as the rest. */
const nines = (percent) => -Math.log10(1 - percent / 100);
const percentOf = (nine) => Number((100 * (1 - 10 ** -nine)).toFixed(3));

/** Draw one chart; returns a function that draws it again, for another width or scheme. */
function plotBench(element, { kind, lines }) {
  const byPercentile = kind === "percentiles";
  const data = columnsOf(lines, byPercentile ? nines : (rate) => rate);
  let plot = null;
  return () => {
    plot?.destroy();
    const colours = palette();
    const axis = { stroke: colours.soft, grid: { stroke: colours.rule, width: 1 }, ticks: { stroke: colours.rule } };
    const shown = (x) => (byPercentile ? `p${percentOf(x)}` : Math.round(x).toLocaleString("en"));
    plot = new uPlot({
      width: element.clientWidth,
      height: 340,
      cursor: { drag: { x: true, y: false } },
      scales: { x: { time: false }, y: { distr: 3, log: 10 } },
      axes: [
        { ...axis, label: byPercentile ? "" : "operations a second", labelSize: byPercentile ? 0 : 24, splits: byPercentile ? () => [50, 90, 99, 99.9, 99.99].map(nines) : undefined, values: (_, ticks) => ticks.map(shown) },
        { ...axis, size: 70, values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : format.duration(tick * 1000))) },
      ],
      series: [
        { label: byPercentile ? "percentile" : "a second", value: (_, x) => (x === null ? "–" : shown(x)) },
        ...lines.map((line, i) => ({
          label: line.name,
          stroke: inks(colours)[i % 6],
          dash: DASHES[Math.floor(i / 6) % 4],
          width: line.joined ? 2 : 0,
          spanGaps: true,
          points: { show: true, size: line.joined ? 6 : 10, stroke: inks(colours)[i % 6] },
          value: (_, ms) => (ms === null ? "–" : format.duration(ms * 1000)),
        })),
      ],
    }, data, element);
  };
}

const charts = JSON.parse(document.getElementById("charts").textContent);
const drawn = [...document.querySelectorAll("[data-chart]")].map((element) => plotBench(element, charts[Number(element.dataset.chart)]));
const draw = () => drawn.forEach((again) => again());
draw();
addEventListener("resize", draw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
